#!/usr/bin/env python3
"""How much of a change the unit tests see: a sample of mutants of the headers, each compiled into the tests that cover it.

A mutant is killed if a test fails, stops or runs ten times as long. It does not count if it does not compile, or makes the same object
code as the header does. What survives is for a reader to judge: a hole, or a change that means nothing.

The tests of a header: the one that mirrors it, then those that include it, then those of the headers that include it.
Compiled as compile_commands.json has them, over a copy of include/; code under #if AVX or FMA with -march=native, code for no registers
with XSIMD_NO_SUPPORTED_ARCHITECTURE. Results go to results.jsonl, and a run that was stopped goes on from there.
"""
import argparse
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # beside the sources
from mutants import sample

# xsimd 8.1 does not compile `select` of integers of AVX-512 at -O0.
MODES = {"base": [], "native": ["-march=native", "-O1"], "scalar": ["-DXSIMD_NO_SUPPORTED_ARCHITECTURE"]}
MOST_TESTS = 8
SLOW = 60  # seconds: a test that takes longer by itself is not asked


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", type=pathlib.Path, required=True, help="the folder of include/ and tests/")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder of compile_commands.json")
    parser.add_argument("--link", nargs="+", required=True, help="what each test is linked with")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=98, help="percent that must be killed")
    parser.add_argument("--only", default="", help="a regular expression of headers")
    parser.add_argument("--list", action="store_true", help="print the mutants and their tests only")
    return parser.parse_args()


class suite:
    """Which tests cover a header, and how each is compiled."""

    def __init__(self, source, build):
        self.include, self.tests = source / "include", source / "tests"
        self.commands = {}
        for entry in json.loads((build / "compile_commands.json").read_text()):
            file = pathlib.Path(entry["file"])
            if file.name.endswith("_test.cpp") and file.is_relative_to(self.tests):
                self.commands.setdefault(str(file.relative_to(self.tests)), entry["command"])
        self.included = {}
        for file in [*self.include.rglob("*.hpp"), *self.tests.rglob("*_test.cpp")]:
            self.included[file] = set(re.findall(r'#include "(posenc/[^"]+)"', file.read_text()))

    def covering(self, header):
        tests, seen, level = [], set(), [header]
        while level and len(tests) < MOST_TESTS:
            names = [str(h.relative_to(self.include)) for h in level]
            mirrored = [name.removeprefix("posenc/").removesuffix(".hpp") + "_test.cpp" for name in names]
            including = [f for f, included in self.included.items() if included & set(names)]
            direct = sorted((f for f in including if f.is_relative_to(self.tests)), key=lambda f: f.stat().st_size)
            for test in mirrored + [str(f.relative_to(self.tests)) for f in direct]:
                if test in self.commands and test not in tests:
                    tests.append(test)
            seen |= set(level)
            level = [f for f in including if f.is_relative_to(self.include) and f not in seen and f.name != "posenc.hpp"]
        return tests[:MOST_TESTS]


def mode_of(mutant):
    """How it must be compiled to be in the code at all; None if this machine cannot."""
    under = " ".join(mutant["conditions"])
    if re.search(r"NEON|__ARM|SVE|VSX|VXE|__s390|__riscv|wasm", under):
        return None
    if re.search(r"(?<!!)defined\(XSIMD_NO_SUPPORTED|else of #if !defined\(XSIMD_NO", under):
        return "scalar"
    return "native" if re.search(r"AVX|F16C|FMA", under) and "else of" not in under else "base"


class worker:
    """A copy of include/ in which one mutant lives at a time."""

    locks = threading.Lock()
    baselines = {}  # (test, mode): object code, seconds; None for a test that is not asked

    def __init__(self, folder, options, tests):
        self.folder, self.options, self.suite = folder, options, tests
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tests.include, folder / "include")

    def compiled(self, test, mode):
        """Object code, or the compiler's first error."""
        command = shlex.split(self.suite.commands[test])
        command[command.index("-o") + 1] = str(self.folder / "test.o")
        command = [a.replace(str(self.suite.include), str(self.folder / "include")) for a in command]
        done = subprocess.run(command + MODES[mode], cwd=self.options.build, capture_output=True, text=True, errors="replace")
        if done.returncode:
            return None, next((line for line in done.stderr.split("\n") if "error" in line), done.stderr[:200])
        return (self.folder / "test.o").read_bytes(), ""

    def fails(self, seconds):
        """How the test that was compiled last fails, or nothing."""
        program = self.folder / "test"
        compiler = shlex.split(next(iter(self.suite.commands.values())))[0]
        subprocess.run([compiler, str(self.folder / "test.o"), "-o", str(program), *self.options.link], check=True)
        try:
            done = subprocess.run(["bash", "-c", f"ulimit -v 8000000; exec {shlex.quote(str(program))}"], cwd=self.folder,
                                  capture_output=True, text=True, errors="replace", timeout=seconds)
        except subprocess.TimeoutExpired:
            return "ran too long"
        failed = [line[13:] for line in done.stdout.split("\n") if line.startswith("[  FAILED  ]") and "." in line]
        return "" if done.returncode == 0 else failed[0] if failed else f"ended with {done.returncode}"

    def baseline(self, test, mode):
        with self.locks:
            known = self.baselines.get((test, mode), 0)
        if known != 0:
            return known
        code, _ = self.compiled(test, mode)
        start = time.time()
        known = None if code is None or self.fails(SLOW) else (code, time.time() - start)
        with self.locks:
            self.baselines[test, mode] = known
        return known

    def judge(self, mutant):
        mode, tests = mode_of(mutant), self.suite.covering(mutant["path"])
        if mode is None or not tests:
            return {"status": "not here" if mode is None else "survived", "why": "" if mode is None else "no test includes it"}
        header = self.folder / "include" / mutant["path"].relative_to(self.suite.include)
        text = mutant["path"].read_text()
        result = {"status": "same code", "why": "", "mode": mode, "tests": []}
        for test in tests:
            known = self.baseline(test, mode)
            if known is None:
                continue
            code, seconds = known
            result["tests"].append(test)
            header.write_text(text[:mutant["first"]] + mutant["now"] + text[mutant["last"]:])
            mutated, error = self.compiled(test, mode)
            header.write_text(text)
            if mutated is None:
                return result | {"status": "not compiled", "why": error}
            if mutated == code:
                continue
            result["status"] = "survived"
            if failure := self.fails(10 + 10 * seconds):
                return result | {"status": "killed", "why": f"{test}: {failure}"}
        if not result["tests"]:
            return result | {"status": "survived", "why": "no test of it passes by itself"}
        return result


def report(results, least):
    print()
    folders = sorted({r["folder"] for r in results})
    for folder in folders + ["all"]:
        of = [r["status"] for r in results if folder in (r["folder"], "all")]
        killed, survived = of.count("killed"), of.count("survived")
        share = 100 * killed / (killed + survived) if killed + survived else 100
        print(f"{folder:12} {len(of):4} mutants: {killed:4} killed, {survived:3} survived, {of.count('not compiled'):3} not compiled, "
              f"{of.count('same code'):3} of the same code, {of.count('not here'):3} for other machines: {share:.1f} %")
    for r in results:
        if r["status"] == "survived":
            print(f"survived  {r['header']}:{r['line']}  {r['was']!r} -> {r['now']!r}  {r['why']}\n          {r['source']}")
    return 0 if share >= least else 1


def main():
    options = arguments()
    tests = suite(options.source, options.build)
    headers = {}
    for path in sorted((options.source / "include/posenc").rglob("*.hpp")):
        name = str(path.relative_to(options.source / "include/posenc"))
        if "/" in name and re.search(options.only, name):
            headers.setdefault(name.split("/")[0], []).append(path)
    drawn = sample(headers, options.count, options.seed)
    for mutant in drawn:
        name = str(mutant["path"].relative_to(options.source / "include/posenc"))
        mutant |= {"header": name, "folder": name.split("/")[0],
                   "source": mutant["path"].read_text().split("\n")[mutant["line"] - 1].strip()}
    if options.list:
        for m in drawn:
            print(f"{m['header']}:{m['line']}  {m['was']!r} -> {m['now']!r}  {mode_of(m)}  {' '.join(tests.covering(m['path']))}")
        return 0

    work = options.build / "mutation"
    work.mkdir(exist_ok=True)
    log = work / "results.jsonl"
    keys = ("header", "line", "first", "was", "now", "kind", "source", "folder")
    known = {tuple(r[k] for k in keys): r for r in map(json.loads, log.read_text().splitlines())} if log.exists() else {}
    results = [known[key] for m in drawn if (key := tuple(m[k] for k in keys)) in known]
    waiting = [m for m in drawn if tuple(m[k] for k in keys) not in known]
    lock = threading.Lock()

    def go(number):
        mine = worker(work / f"worker{number}", options, tests)
        while True:
            with lock:
                if not waiting:
                    return
                mutant = waiting.pop(0)
            start = time.time()
            result = {k: mutant[k] for k in keys} | mine.judge(mutant) | {"seconds": round(time.time() - start, 1)}
            with lock:
                results.append(result)
                with log.open("a") as out:
                    out.write(json.dumps(result) + "\n")
                print(f"{len(results)}/{len(drawn)}  {result['status']:12}  {mutant['header']}:{mutant['line']}  {mutant['was']!r} -> "
                      f"{mutant['now']!r}  {result['why'][:80]}  {result['seconds']} s", flush=True)

    threads = [threading.Thread(target=go, args=(i,)) for i in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return report(results, options.least)


if __name__ == "__main__":
    sys.exit(main())
