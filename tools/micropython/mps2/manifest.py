# What is frozen into the image of mps2: mounting the flash, and the firmware.
freeze("modules")
include("../../../firmware/manifest.py")
