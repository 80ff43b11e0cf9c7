// What MicroPython is made of on this board: what the RP2040 has, as far as the firmware uses it.
#include <alloca.h>
#include <stdint.h>

#define MICROPY_CONFIG_ROM_LEVEL (MICROPY_CONFIG_ROM_LEVEL_EXTRA_FEATURES)
#define MICROPY_HW_BOARD_NAME "mps2-an385"
#define MICROPY_HW_MCU_NAME "Cortex-M3"
#define MICROPY_PY_SYS_PLATFORM "mps2"

#define MICROPY_ENABLE_GC (1)
#define MICROPY_ENABLE_EMERGENCY_EXCEPTION_BUF (1)
#define MICROPY_LONGINT_IMPL (MICROPY_LONGINT_IMPL_MPZ)
#define MICROPY_FLOAT_IMPL (MICROPY_FLOAT_IMPL_FLOAT)
#define MICROPY_EMIT_THUMB (1)
#define MICROPY_PERSISTENT_CODE_LOAD (1)
#define MICROPY_MAKE_POINTER_CALLABLE(p) ((void *)((uintptr_t)(p) | 1))

#define MICROPY_VFS (1)
#define MICROPY_READER_VFS (1)

// No calendar and no file descriptors, but ticks and a poll over streams.
#define MICROPY_PY_TIME_GMTIME_LOCALTIME_MKTIME (0)
#define MICROPY_PY_TIME_TIME_TIME_NS (0)
#define MICROPY_PY_ASYNCIO (0)
#define MICROPY_PY_MACHINE (1)
#define MICROPY_PY_MACHINE_RESET (1)
#define MICROPY_PY_MACHINE_INCLUDEFILE "machine_port.h"
#define MICROPY_PY_MACHINE_PIN_BASE (0)
#define MICROPY_PY_MACHINE_SIGNAL (0)

#define MP_STATE_PORT MP_STATE_VM
#define MP_NEED_LOG2 (1)
#define MP_SSIZE_MAX (0x7fffffff)
#define UINT_FMT "%lu"
#define INT_FMT "%ld"
typedef int32_t mp_int_t;
typedef uint32_t mp_uint_t;
typedef long mp_off_t;

// A byte on the terminal may interrupt at any time.
#define MICROPY_BEGIN_ATOMIC_SECTION() board_mask()
#define MICROPY_END_ATOMIC_SECTION(state) board_unmask(state)

static inline uint32_t board_mask(void) {
    uint32_t state;
    __asm volatile ("mrs %0, primask\n cpsid i" : "=r" (state) : : "memory");
    return state;
}

static inline void board_unmask(uint32_t state) {
    __asm volatile ("msr primask, %0" : : "r" (state) : "memory");
}
