// Every header behind the macros of other people's headers: names that posenc must not use. Of
// windows.h, near, far, min and max are told on cmake/README.md, and so is `slots` of Qt.
#include <Eigen/Core>
#include <xsimd/xsimd.hpp>
#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif

// windows.h, with rpcndr.h, minwindef.h, wingdi.h, winerror.h.
#define small char
#define hyper long long
#define interface struct
#define huge
#define cdecl
#define pascal
#define IN
#define OUT
#define OPTIONAL
#define CONST const
#define VOID void
#define THIS
#define PURE = 0
#define ERROR 0
#define NO_ERROR 0
#define DELETE 0x10000
#define STRICT 1
#define IGNORE 0
#define INFINITE 0xffffffff
#define DIFFERENCE 11
#define TRANSPARENT 1
#define OPAQUE 2
#define ABSOLUTE 1
#define RELATIVE 2
#define ALTERNATE 1
#define WINDING 2
#define CALLBACK
#define GetObject GetObjectA
#define Yield()
#define TRUE 1
#define FALSE 0
// complex.h, math.h, sys/types.h, sys/param.h, and gnu++ itself.
#define I _Complex_I
#define DOMAIN 1
#define OVERFLOW 3
#define UNDERFLOW 4
#define SING 2
#define HUGE 3.4e38f
#define major(x) gnu_dev_major(x)
#define minor(x) gnu_dev_minor(x)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define roundup(x, y) (((x) + (y)-1) / (y) * (y))
#define howmany(x, y) (((x) + (y)-1) / (y))
#define isset(a, i) ((a)[i])
#define setbit(a, i) ((a)[i])
#define linux 1
#define unix 1
// termios.h, curses.h.
#define B0 0
#define B50 1
#define ECHO 8
#define CS8 48
#define OK 0
#define ERR -1
// X11.
#define Status int
#define Bool int
#define True 1
#define False 0
#define None 0L
#define Always 2
#define Success 0
#define Complex 0
#define Above 0
#define Below 1
#define Unsorted 0
// Arduino, Qt.
#define PI 3.14
#define TWO_PI 6.28
#define DEG_TO_RAD 0.017
#define HIGH 1
#define LOW 0
#define INPUT 0
#define OUTPUT 1
#define DEFAULT 1
#define DEC 10
#define HEX 16
#define BIN 2
#define F(text) text
#define sq(x) ((x) * (x))
#define radians(x) (x)
#define degrees(x) (x)
#define emit
#define foreach for
#define forever for (;;)

#include "posenc/adapter/ggml.hpp"
#include "posenc/adapter/ggml_flash_attention.hpp"
#include "posenc/posenc.h"
#include "posenc/posenc.hpp"
#if __has_include(<nlohmann/json.hpp>)
#include "posenc/model/gguf.hpp"
#include "posenc/model/hugging_face.hpp"
#include "posenc/model/rotate.hpp"
#endif
