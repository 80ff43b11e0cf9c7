// What the same formulas cost in C with soft float, on the same emulated core: prints timer ticks a call.
// Compiled with the model as CasADi writes it (model.c, function `tau`, single precision) and mps2's start.c.
#include <math.h>
#define sin sinf
#define cos cosf

#include "mps2.h"
#include "model.c"

#define CALLS 100

static float input[5][64];
static float output[16];
static float work[4096];

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
    const float *arguments[5];
    float *results[1] = {output};
    for (int i = 0; i < 5; i++) {
        arguments[i] = input[i];
        for (int k = 0; k < 64; k++) {
            input[i][k] = 0.3f + 0.01f * (float)(7 * i + k);
        }
    }
    uint32_t before = TIMER0->value;
    for (int i = 0; i < CALLS; i++) {
        input[0][0] += 0.01f;
        tau(arguments, results, 0, work, 0);
    }
    print((before - TIMER0->value) / CALLS);
    return 0;
}
