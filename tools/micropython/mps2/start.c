// From reset to main, and the end of a board that has gone wrong: QEMU ends with status 1.
#include <stddef.h>

#include "mps2.h"

extern uint32_t _stack_top, _data_start, _data_end, _data_load, _bss_start, _bss_end;
int main(void);

static void reset(void) {
    uint32_t *from = &_data_load;
    for (uint32_t *to = &_data_start; to < &_data_end;) {
        *to++ = *from++;
    }
    for (uint32_t *to = &_bss_start; to < &_bss_end;) {
        *to++ = 0;
    }
    board_start();
    main();
    board_exit(0);
}

static void fault(void) {
    static const char text[] = "\r\nthe processor took a fault\r\n";
    for (const char *c = text; *c; c++) {
        UART0->data = *c;
    }
    board_exit(1);
}

// The watchdog's first warning: who does not feed it does not listen either. Its second one resets the core.
static void warning(void) {
}

// The core's 15 exceptions, then the board's interrupts as far as they are enabled.
__attribute__((section(".vectors"), used)) static const void *vectors[16 + 10] = {
    &_stack_top, reset, warning, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault,
    board_uart0_interrupt, fault, fault, fault, fault, fault, fault, fault, fault, fault,
};

// Semihosting: SYS_EXIT_EXTENDED with a status.
void board_exit(int status) {
    uint32_t block[2] = {0x20026, (uint32_t)status};
    register uint32_t operation __asm("r0") = 0x20;
    register uint32_t *argument __asm("r1") = block;
    __asm volatile ("bkpt 0xab" : : "r" (operation), "r" (argument) : "memory");
    for (;;) {
    }
}
