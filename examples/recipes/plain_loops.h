/* Shared by the recipes: the heads of a model, the same in each language, and the definition of
 * attention, by plain loops in double, which they compare their outputs with. Your program has
 * other heads, and no plain loops. */
#ifndef POSENC_RECIPES_PLAIN_LOOPS_H
#define POSENC_RECIPES_PLAIN_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HEADS = 8, /* of queries; rotated in halves, base 10000 */
  KV_HEADS = 2,
  DIM = 64,
  MLA_HEADS = 16,
  MLA_LATENT = 512,
  MLA_ROPE = 64, /* rotated, interleaved */
  MLA_DIM = MLA_LATENT + MLA_ROPE
};

/* They stand for W x: `numbers` of each of `tokens` tokens, from token `first` on. */
void queries_of(size_t first, size_t tokens, size_t numbers, float* q);
void keys_of(size_t first, size_t tokens, size_t numbers, float* k);
void values_of(size_t first, size_t tokens, size_t numbers, float* v);

/* Whether `outputs`, [HEADS][DIM], are those of the query of token `query`, at `position`, which
 * sees the `count` tokens `seen`, at `positions` (null: a token's number is its position). */
int is_right(float const* outputs, size_t query, int64_t position, size_t const* seen,
             int64_t const* positions, size_t count);

/* The same over cached heads, [count][KV_HEADS][DIM], as they were read back: of a rotated query.
 */
int is_right_over(float const* outputs, float const* q, float const* k, float const* v,
                  size_t count);

/* The same for MLA, [MLA_HEADS][MLA_LATENT], of a query that sees all tokens up to its own. */
int is_right_of_mla(float const* outputs, size_t query, double scale);

#ifdef __cplusplus
}
#endif

#endif
