# card: timestamp | expect: nothing | why: the date changes once a day
import time


def now_line() -> str:
    return "Local time: " + time.strftime("%A, %d %B", time.localtime())
