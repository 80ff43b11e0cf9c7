// The part of the module machine that belongs to this board. Included by extmod/modmachine.c.
void board_reset(void) __attribute__((noreturn));

static void mp_machine_idle(void) {
    board_wait_us(1000);
}

static void mp_machine_reset(void) {
    board_reset();
}

static mp_int_t mp_machine_reset_cause(void) {
    return 0;
}
