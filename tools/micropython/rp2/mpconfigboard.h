// The Raspberry Pi Pico: 2 MB of flash, the last 1408 kB of it for files. No TLS: the firmware has no use for it.
#define MICROPY_HW_BOARD_NAME "Raspberry Pi Pico"
#define MICROPY_HW_FLASH_STORAGE_BYTES (1408 * 1024)
#define MICROPY_PY_SSL (0)
