// MicroPython's life on this board: heap, file system, the frozen firmware. A REPL when that has ended by itself;
// when it has died, its traceback is on UART 0 and QEMU ends.
#include "py/gc.h"
#include "py/mphal.h"
#include "py/runtime.h"
#include "py/stackctrl.h"
#include "shared/readline/readline.h"
#include "shared/runtime/gchelper.h"
#include "shared/runtime/pyexec.h"

#include "mps2.h"

// As much as MicroPython's RP2040 port leaves to Python: what is behind its own data in 256 kB.
static uint32_t heap[245 * 1024 / 4];
extern uint8_t _stack_top, _stack_bottom;

static bool repl(void) {
    return pyexec_mode_kind == PYEXEC_MODE_RAW_REPL ? pyexec_raw_repl() == 0 : pyexec_friendly_repl() == 0;
}

int main(void) {
    mp_stack_set_top(&_stack_top);
    mp_stack_set_limit(&_stack_top - &_stack_bottom - 1024);
    for (;;) {
        gc_init(heap, (uint8_t *)heap + sizeof(heap));
        mp_init();
        readline_init0();
        pyexec_frozen_module("_boot.py", false);
        if (pyexec_mode_kind == PYEXEC_MODE_FRIENDLY_REPL) {
            // A byte of a host that is early must not interrupt; main.py has its own way to the REPL.
            if (pyexec_frozen_module("main.py", false) == 0) {
                board_exit(1);
            }
        }
        while (repl()) {
        }
        mp_hal_stdout_tx_str("MPY: soft reboot\r\n");
        gc_sweep_all();
        mp_deinit();
    }
}

void gc_collect(void) {
    gc_collect_start();
    gc_helper_collect_regs_and_stack();
    gc_collect_end();
}

void nlr_jump_fail(void *value) {
    (void)value;
    mp_hal_stdout_tx_str("an exception nobody catches\r\n");
    board_exit(1);
}
