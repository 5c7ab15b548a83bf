"""python -m posenc VERB: the program posenc, which the wheel has in it."""

import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).with_name("posenc-program")
    os.execv(program, ["posenc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
