//! Compiles posenc_kernels.cpp, once for each instruction set, into libposenc.a. CXX and CXXFLAGS
//! name another compiler and more flags; AR another ar.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn run(command: &mut Command) {
    println!("{command:?}"); // cargo shows it if the build fails
    let status = command.status();
    assert!(
        matches!(&status, Ok(s) if s.success()),
        "{command:?} must succeed, gave {status:?}"
    );
}

/// The folder with posenc_kernels.cpp and posenc.h: `posenc` in the crate, or made of the checkout
/// that the crate is in.
fn sources(out: &Path) -> PathBuf {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap());
    let copied = here.join("posenc");
    if copied.join("posenc_kernels.cpp").exists() {
        println!("cargo:rerun-if-changed={}", copied.display());
        return copied;
    }
    let root = here.join("../../..");
    let made = out.join("posenc");
    run(Command::new("cmake")
        .arg(format!("-DFOLDER={}", made.display()))
        .arg("-P")
        .arg(root.join("cmake/single_files.cmake")));
    for name in [
        "include",
        "cmake/single_files.cmake",
        "cmake/packaging/posenc_kernels.cpp",
    ] {
        println!("cargo:rerun-if-changed={}", root.join(name).display());
    }
    made
}

fn main() {
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    let folder = sources(&out);
    let target = env::var("TARGET").unwrap();
    // Without a linker's trick that other systems lack: one file for each set, and one that chooses.
    let sets: &[&str] = if target.starts_with("x86_64") && !target.contains("msvc") {
        &["v3", "v4", "v4_vnni"]
    } else {
        &[]
    };
    let level = match env::var("OPT_LEVEL").unwrap().as_str() {
        "0" => "-O0",
        _ => "-O3",
    };
    let cxx = env::var("CXX").unwrap_or_else(|_| "c++".into());
    let mut objects = Vec::new();
    for set in [None].into_iter().chain(sets.iter().map(Some)) {
        let object = out.join(format!("posenc_{}.o", set.unwrap_or(&"base")));
        let mut command = Command::new(&cxx);
        command.args(["-std=c++20", level, "-ffp-contract=off", "-fPIC", "-c"]);
        match set {
            Some(set) => {
                let (level, more) = set.split_once('_').unwrap_or((set, ""));
                command.arg(format!("-march=x86-64-{level}"));
                if !more.is_empty() {
                    command.arg(format!("-mavx512{more}"));
                }
                command.arg(format!("-DPOSENC_SET={set}"))
            }
            None if sets.is_empty() => &mut command,
            None => command.arg(format!("-DPOSENC_SETS={}", sets.join(","))),
        };
        command.args(env::var("CXXFLAGS").unwrap_or_default().split_whitespace());
        run(command
            .arg(folder.join("posenc_kernels.cpp"))
            .arg("-o")
            .arg(&object));
        objects.push(object);
    }
    let library = out.join("libposenc.a");
    let _ = fs::remove_file(&library);
    run(Command::new(env::var("AR").unwrap_or_else(|_| "ar".into()))
        .arg("rcs")
        .arg(&library)
        .args(&objects));

    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=posenc");
    let standard = if target.contains("apple") {
        "c++"
    } else {
        "stdc++"
    };
    println!("cargo:rustc-link-lib=dylib={standard}");
    println!("cargo:rustc-env=POSENC_FOLDER={}", folder.display()); // for the tests
    println!("cargo:rustc-env=POSENC_OUT={}", out.display());
    for name in ["CXX", "CXXFLAGS", "AR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
