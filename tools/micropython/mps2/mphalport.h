// What MicroPython asks of the hardware; board.c answers.
#include <stdint.h>

void mp_hal_set_interrupt_char(int c);

// Sleeps until a byte has come on a UART, at most so long.
void board_wait_us(uint32_t microseconds);
#define MICROPY_INTERNAL_WFE(TIMEOUT_MS) board_wait_us(1000)
