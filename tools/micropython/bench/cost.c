// What a model costs in C on the same emulated core, at the same state: prints timer ticks a call.
// Linked with model.c and model.h of `idm build --c`, inputs.h of the benchmark, and mps2's start.c.
#include "model.h"
#include "inputs.h"
#include "mps2.h"

#define CALLS 100

void board_start(void) {
    TIMER0->value = TIMER0->reload = UINT32_MAX;
    TIMER0->ctrl = 1;
    UART0->ctrl = UART_TX;
}

void board_uart0_interrupt(void) {
}

static void print(uint32_t number) {
    char digits[12];
    int n = 0;
    do {
        digits[n++] = '0' + number % 10;
        number /= 10;
    } while (number);
    while (n) {
        UART0->data = digits[--n];
    }
    UART0->data = '\n';
}

int main(void) {
    static int32_t torque[N_AXES + 1];
    static REAL torque_float[N_AXES];
    uint32_t before = TIMER0->value;
    for (int i = 0; i < CALLS; i++) {
        inverse_dynamics(x_int, p_int, torque);
    }
    uint32_t between = TIMER0->value;
    for (int i = 0; i < CALLS; i++) {
        inverse_dynamics_float(x_real, p_real, torque_float);
    }
    uint32_t after = TIMER0->value;
    print(before - between);
    print(between - after);
    return 0;
}
