/* The interface posenc1 on 64-bit systems: sizes and places that programs are compiled with. A
 * change here is a change of the interface: then it is posenc2. */
#include "posenc/posenc.h"

#define HOLDS(name, condition) _Static_assert(condition, name)
#define IS_AT(type, field, offset) HOLDS(#type "." #field, offsetof(type, field) == (offset))

HOLDS("for 64-bit systems", sizeof(size_t) == 8);
HOLDS("enums",
      sizeof(posenc1_status) == 4 && sizeof(posenc1_type) == 4 && sizeof(posenc1_layout) == 4);
HOLDS("types", POSENC1_F32 == 0 && POSENC1_F64 == 1 && POSENC1_F16 == 2 && POSENC1_BF16 == 3);
HOLDS("layouts", POSENC1_HALVES == 0 && POSENC1_INTERLEAVED == 1);
HOLDS("statuses", POSENC1_OK == 0 && POSENC1_INVALID_ARGUMENT == 1 && POSENC1_OUT_OF_MEMORY == 2 &&
                      POSENC1_NO_INSTRUCTION_SET == 3 && POSENC1_NOT_BUILT == 4 &&
                      POSENC1_FAILED == 5);

HOLDS("posenc1_parameter", sizeof(posenc1_parameter) == 32);
IS_AT(posenc1_parameter, number, 8);
IS_AT(posenc1_parameter, list, 16);
IS_AT(posenc1_parameter, count, 24);

HOLDS("posenc1_layer", sizeof(posenc1_layer) == 56);
IS_AT(posenc1_layer, first_dim, 8);
IS_AT(posenc1_layer, rotary_dim, 16);
IS_AT(posenc1_layer, head_dim, 24);
IS_AT(posenc1_layer, window, 32);
IS_AT(posenc1_layer, softmax_factor, 40);
IS_AT(posenc1_layer, depends_on_length, 48);

HOLDS("posenc1_heads", sizeof(posenc1_heads) == 64);
IS_AT(posenc1_heads, type, 8);
IS_AT(posenc1_heads, layout, 12);
IS_AT(posenc1_heads, batch_stride, 16);
IS_AT(posenc1_heads, token_stride, 24);
IS_AT(posenc1_heads, head_stride, 32);
IS_AT(posenc1_heads, slots, 40);
IS_AT(posenc1_heads, pages, 48);
IS_AT(posenc1_heads, page_tokens, 56);

HOLDS("posenc1_rotation", sizeof(posenc1_rotation) == 224);
IS_AT(posenc1_rotation, to, 64);
IS_AT(posenc1_rotation, batches, 128);
IS_AT(posenc1_rotation, tokens, 136);
IS_AT(posenc1_rotation, heads, 144);
IS_AT(posenc1_rotation, head_dim, 152);
IS_AT(posenc1_rotation, first_dim, 160);
IS_AT(posenc1_rotation, cos_sin, 168);
IS_AT(posenc1_rotation, rows, 176);
IS_AT(posenc1_rotation, pairs, 184);
IS_AT(posenc1_rotation, maker, 192);
IS_AT(posenc1_rotation, eps, 200);
IS_AT(posenc1_rotation, weight, 208);
IS_AT(posenc1_rotation, scale, 216);

HOLDS("posenc1_attention", sizeof(posenc1_attention) == 328);
IS_AT(posenc1_attention, outputs, 64);
IS_AT(posenc1_attention, keys, 128);
IS_AT(posenc1_attention, values, 192);
IS_AT(posenc1_attention, tokens, 256);
IS_AT(posenc1_attention, heads, 264);
IS_AT(posenc1_attention, kv_heads, 272);
IS_AT(posenc1_attention, head_dim, 280);
IS_AT(posenc1_attention, value_dim, 288);
IS_AT(posenc1_attention, scale, 296);
IS_AT(posenc1_attention, sinks, 304);
IS_AT(posenc1_attention, memory, 312);
IS_AT(posenc1_attention, memory_bytes, 320);
