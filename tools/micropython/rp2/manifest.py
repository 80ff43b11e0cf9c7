# What is frozen into the image of the Pico: MicroPython's own start, which mounts the flash, and the firmware.
freeze("$(PORT_DIR)/modules", ("_boot.py", "rp2.py"))
include("../../../firmware/manifest.py")
