# Run one test module under MicroPython: micropython firmware/tests/run.py test_delay
#
# A test module is plain: functions named test_* with asserts. Each prints `ok name` or `FAIL name: reason`, the
# traceback goes to stderr. The exit code is 0 if there was one and none failed.
# host/tests/test_firmware_on_micropython.py starts this for every module, with
# MICROPYPATH=firmware:shared:firmware/tests and the root of the checkout as working directory.

import sys


def run(module):
    tests = sorted(name for name in dir(module) if name.startswith("test_"))
    if not tests:
        print("FAIL {}: holds no function test_*".format(module.__name__))
        return False
    failed = 0
    for name in tests:
        try:
            getattr(module, name)()
        except Exception as error:
            failed += 1
            print("FAIL {}: {!r}".format(name, error))
            sys.print_exception(error, sys.stderr)
        else:
            print("ok", name)
    return not failed


if __name__ == "__main__":
    sys.exit(0 if run(__import__(sys.argv[1])) else 1)
