// The board below MicroPython: a clock, a terminal on UART 0, and waiting without burning the host's time.
#include "py/mphal.h"
#include "py/runtime.h"
#include "py/stream.h"

#include "mps2.h"

void board_reset(void) {
    AIRCR = AIRCR_RESET;
    for (;;) {
    }
}

void board_start(void) {
    TIMER0->value = TIMER0->reload = UINT32_MAX;
    TIMER0->ctrl = TIMER_ENABLE;
    UART0->bauddiv = UART1->bauddiv = CLOCK_MHZ * 1000000 / 921600;
    UART0->ctrl = UART1->ctrl = UART_TX | UART_RX | UART_RX_INTERRUPT;
}

// Clock: timer 0 counts down at 25 MHz and is made 64 bits wide; read it at least every 171 s.

static uint64_t ticks(void) {
    static uint32_t last, wraps;
    uint32_t state = board_mask();
    uint32_t now = UINT32_MAX - TIMER0->value;
    if (now < last) {
        wraps++;
    }
    last = now;
    uint64_t all = (uint64_t)wraps << 32 | now;
    board_unmask(state);
    return all;
}

mp_uint_t mp_hal_ticks_cpu(void) {
    return (mp_uint_t)ticks();
}

mp_uint_t mp_hal_ticks_us(void) {
    return (mp_uint_t)(ticks() / CLOCK_MHZ);
}

mp_uint_t mp_hal_ticks_ms(void) {
    return (mp_uint_t)(ticks() / (CLOCK_MHZ * 1000));
}

// Files are dated by the time since the board was switched on.
uint64_t mp_hal_time_ns(void) {
    return ticks() * (1000 / CLOCK_MHZ);
}

// Sleep: interrupts wake the core although they are masked, so none of them is taken here.

void board_wait_us(uint32_t microseconds) {
    static const uint32_t wakers = UART0_RX_IRQ | UART1_RX_IRQ | TIMER1_IRQ;
    uint32_t state = board_mask();
    uint32_t enabled = NVIC_ENABLE;
    TIMER1->value = TIMER1->reload = microseconds * CLOCK_MHZ;
    TIMER1->ctrl = TIMER_ENABLE | TIMER_INTERRUPT;
    NVIC_ENABLE = wakers;
    if (!((UART0->state | UART1->state) & UART_RX_FULL)) {
        __asm volatile ("dsb\n wfi" : : : "memory");
    }
    TIMER1->ctrl = 0;
    TIMER1->intclear = 1;
    UART1->intclear = UART_RX;
    NVIC_DISABLE = wakers & ~enabled;
    NVIC_UNPEND = wakers & ~enabled;
    board_unmask(state);
}

void mp_hal_delay_us(mp_uint_t microseconds) {
    uint64_t until = ticks() + (uint64_t)microseconds * CLOCK_MHZ;
    while (ticks() < until) {
    }
}

void mp_hal_delay_ms(mp_uint_t milliseconds) {
    uint64_t until = ticks() + (uint64_t)milliseconds * CLOCK_MHZ * 1000;
    do {
        mp_event_wait_ms(1);
    } while (ticks() < until);
}

// Terminal: with an interrupt character set, UART 0 interrupts and fills a ring. Without one, nobody but the reader
// touches UART 0, be it this file or the firmware.

static uint8_t ring[1024];
static volatile uint32_t head, tail;
int mp_interrupt_char = -1;

void board_uart0_interrupt(void) {
    UART0->intclear = UART_RX;
    while ((UART0->state & UART_RX_FULL) && head - tail < sizeof(ring)) {
        uint8_t c = (uint8_t)UART0->data;
        if (c == mp_interrupt_char) {
            tail = head;
            mp_sched_keyboard_interrupt();
        } else {
            ring[head++ % sizeof(ring)] = c;
        }
    }
}

void mp_hal_set_interrupt_char(int c) {
    mp_interrupt_char = c;
    if (c < 0) {
        NVIC_DISABLE = UART0_RX_IRQ;
    } else {
        board_uart0_interrupt();
        NVIC_ENABLE = UART0_RX_IRQ;
    }
}

static bool readable(void) {
    uint32_t state = board_mask();
    board_uart0_interrupt();
    board_unmask(state);
    return head != tail;
}

uintptr_t mp_hal_stdio_poll(uintptr_t flags) {
    uintptr_t ready = flags & MP_STREAM_POLL_WR;
    if ((flags & MP_STREAM_POLL_RD) && readable()) {
        ready |= MP_STREAM_POLL_RD;
    }
    return ready;
}

int mp_hal_stdin_rx_chr(void) {
    while (!readable()) {
        mp_event_wait_ms(1);
    }
    return ring[tail++ % sizeof(ring)];
}

mp_uint_t mp_hal_stdout_tx_strn(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        while (UART0->state & UART_TX_FULL) {
        }
        UART0->data = text[i];
    }
    return n;
}
