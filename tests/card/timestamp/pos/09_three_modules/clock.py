# card: timestamp | expect: volatile-time @ L6
import time


def now_line() -> str:
    return "Local time: " + time.strftime("%A, %H:%M:%S", time.localtime())  # <- volatile-time
