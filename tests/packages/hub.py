"""Stands in for kernel-builder, which needs Nix: copies what build.toml lists and nothing else, as that
does, builds it for the installed PyTorch, and runs the folder's tests. (hub.py FOLDER ROOM COMPILER
[LIBRARY]: with LIBRARY, one of the C API, it takes that for the kernels, whose code takes minutes to
compile, and of these only looks whether all that they include is there; without PyTorch, that is all)"""

import pathlib
import runpy
import shutil
import subprocess
import sys
import tomllib
import types

try:
    import torch
    from torch.utils import cpp_extension
except ImportError:
    torch = None

folder, room, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
library = sys.argv[4] if len(sys.argv) > 4 else None
if not (torch or library):
    sys.exit(f"PyTorch must be installed for {sys.executable} (Debian: python3-torch)")
config = tomllib.loads((folder / "build.toml").read_text())

# What edition 5 of build.toml requires and knows.
general, kernels = config["general"], config["kernel"]
assert set(config) == {"general", "torch", "kernel"}, set(config)
assert set(general) == {"name", "version", "edition", "license", "backends", "hub"}, set(general)
assert general["edition"] == 5 and general["backends"] == ["cpu"] and set(general["hub"]) == {"repo-id"}
assert set(config["torch"]) <= {"src", "include", "cxx-flags"}, set(config["torch"])
for kernel in kernels.values():
    assert set(kernel) == {"backend", "depends", "include", "cxx-flags", "src"} and kernel["backend"] == "cpu", kernel
    assert kernel["depends"] == ["torch"]
assert all((folder / file).is_file() for file in ("CARD.md", "LICENSE", "LICENSE.xsimd"))

shutil.rmtree(room, ignore_errors=True)
sections = [config["torch"], *kernels.values()]
listed = [file for section in sections for file in section["src"]]
assert len(set(listed)) == len(listed), "a file with two sets of flags"
# Each source is compiled alone.
assert not [file for file in listed if '.cpp"' in (folder / file).read_text()]
package = room / "build" / general["name"]
for file in listed:
    (room / file).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / file, room / file)
shutil.copytree(folder / "torch-ext" / general["name"], package)

common = [compiler, "-O3", "-DNDEBUG", "-fPIC", "-fno-gnu-unique", "-DCPU_KERNEL"]
objects = []


def compile_section(section, *flags):
    for file in (file for file in section["src"] if file.endswith(".cpp")):
        objects.append(room / f"{file}.o")
        what = ["-M"] if flags == ("-M",) else ["-c"]
        subprocess.run([*common, *section["cxx-flags"], *(f"-I{room / path}" for path in section["include"]), *flags, *what,
                        room / file, "-o", objects[-1]], check=True)


for kernel in kernels.values():
    compile_section(kernel, *["-M"] * bool(library))
if library:  # what is included, lies in the folder
    included = {file for made in objects for file in made.read_text().split() if "/posenc/" in file or "/xsimd/" in file}
    elsewhere = [file for file in included if not file.startswith(f"{room}/")]
    assert included and not elsewhere, elsewhere
if torch is None:
    sys.exit()

# What kernel-builder writes: macros that register, and the module _ops.
ops = f"_{general['name']}_cpu_by_hand"
(room / "registration.h").write_text("#pragma once\n#define TORCH_LIBRARY_EXPAND(NAME, MODULE) TORCH_LIBRARY(NAME, MODULE)\n"
                                     "#define REGISTER_EXTENSION(NAME)\n")
(package / "_ops.py").write_text(f"import torch\ntorch.ops.load_library({str(package / (ops + '.so'))!r})\nops = torch.ops.{ops}\n")
if library:
    objects = []
compile_section(config["torch"], f"-DTORCH_EXTENSION_NAME={ops}", f"-I{room}", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
                *(f"-isystem{path}" for path in cpp_extension.include_paths()))
libraries = [flag for path in cpp_extension.library_paths() for flag in (f"-L{path}", f"-Wl,-rpath,{path}")]
own = [library, f"-Wl,-rpath,{pathlib.Path(library).parent}"] if library else []
subprocess.run([compiler, "-shared", *objects, *own, *libraries, "-lc10", "-ltorch_cpu", "-Wl,-z,defs", "-o", package / f"{ops}.so"], check=True)

# The tests get the kernel from the hub: here, from where it was built.
sys.path.insert(0, str(room / "build"))
hub = types.ModuleType("kernels")
hub.get_kernel = lambda name, **_: __import__(name.split("/")[1])
sys.modules["kernels"] = hub
tests = runpy.run_path(str(folder / "tests" / "test_posenc.py"))
for name, test in tests.items():
    if name.startswith("test_"):
        test()
        print(name)
