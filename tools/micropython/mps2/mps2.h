// Registers of mps2-an385 that are used here: CMSDK timers and UARTs (Arm DDI 0479), and the core's own (Armv7-M).
#include <stdint.h>

#define CLOCK_MHZ 25

typedef struct {
    volatile uint32_t ctrl, value, reload, intclear;
} mps2_timer_t;
#define TIMER0 ((mps2_timer_t *)0x40000000)
#define TIMER1 ((mps2_timer_t *)0x40001000)
#define TIMER_ENABLE 1
#define TIMER_INTERRUPT 8
#define TIMER1_IRQ (1 << 9)

typedef struct {
    volatile uint32_t data, state, ctrl, intclear, bauddiv;
} mps2_uart_t;
#define UART0 ((mps2_uart_t *)0x40004000)
#define UART1 ((mps2_uart_t *)0x40005000)
#define UART_TX_FULL 1
#define UART_RX_FULL 2
#define UART_TX 1
#define UART_RX 2
#define UART_RX_INTERRUPT 8
#define UART0_RX_IRQ (1 << 0)
#define UART1_RX_IRQ (1 << 2)

#define NVIC_ENABLE (*(volatile uint32_t *)0xE000E100)
#define NVIC_DISABLE (*(volatile uint32_t *)0xE000E180)
#define NVIC_UNPEND (*(volatile uint32_t *)0xE000E280)
#define AIRCR (*(volatile uint32_t *)0xE000ED0C)
#define AIRCR_RESET 0x05FA0004

void board_start(void);
void board_uart0_interrupt(void);
void board_exit(int status) __attribute__((noreturn));
