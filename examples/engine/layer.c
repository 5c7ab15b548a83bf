/* One layer of an engine, whole: a batch of sequences, prompts and single tokens alike, by threads
 * that are all inside the op. */
#include <posenc/posenc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 8, KV_HEADS = 2, DIM = 64, PAGES = 8, PAGE = 16, MOST = 64, BATCH = 2, THREADS = 3 };

/* All threads share this in a step. Queries, keys and values of the sequences stand one after
 * another, [tokens][heads][DIM], as a projection of the whole batch gives them. */
struct layer {
  posenc1_rows rows;       /* cosines and sines of each token: once per step, for all layers */
  posenc1_operand step[3]; /* queries in place; keys and values to the slots of their tokens */
  posenc1_attention of[BATCH];
  void* memory; /* scratch, kept from step to step */
  size_t bytes;
  pthread_barrier_t barrier; /* your pool's */
};

static void must(posenc1_status status) {
  if (status != POSENC1_OK) puts(posenc1_error()), exit(1);
}
static void wait_for_all(void* barrier) { pthread_barrier_wait(barrier); }

/* Each thread calls this: step, barrier, attend, barrier. */
static void run_layer(struct layer* l, size_t thread) {
  must(posenc1_rotate(&l->rows, l->step, 3, thread, THREADS));
  wait_for_all(&l->barrier); /* the cache has all keys and values */
  posenc1_worker const me = {.index = thread,
                             .count = THREADS,
                             .barrier = wait_for_all,
                             .barrier_argument = &l->barrier,
                             .memory = l->memory,
                             .memory_bytes = l->bytes};
  must(posenc1_attend_as(l->of, BATCH, &me));
  wait_for_all(&l->barrier); /* the outputs are whole */
}

struct thread {
  struct layer* layer;
  size_t index;
};
static void* run(void* of) {
  struct thread const* const self = of;
  run_layer(self->layer, self->index);
  return NULL;
}
static void project(float* heads, size_t count, size_t token) { /* stands for your W x */
  for (size_t i = 0; i < count; ++i) heads[i] = (float)((i + token * 5) % 11) - 4;
}

int main(void) {
  /* Once per model, and once per cache. The format is a value, which a user may choose. */
  posenc1_format const format = POSENC1_Q8_0;
  size_t head_bytes, scale_bytes;
  posenc1_frequencies* f;
  posenc1_row_maker* maker;
  must(posenc1_frequencies_of_base(DIM, 500000, &f));
  must(posenc1_row_maker_create(f, 0, &maker));
  must(posenc1_format_bytes(format, DIM, &head_bytes, &scale_bytes));
  size_t const cache_bytes = PAGES * PAGE * KV_HEADS * (head_bytes + scale_bytes);
  posenc1_heads k_cache = {.data = malloc(cache_bytes),
                           .format = format,
                           .pages = PAGES,
                           .page_tokens = PAGE},
                v_cache = k_cache;
  v_cache.data = malloc(cache_bytes);
  static int const table[BATCH][PAGES / BATCH] = {{6, 1, 3, 0}, {2, 7, 5, 4}}; /* whose pages */
  int64_t slots[BATCH][MOST];
  for (int s = 0; s < BATCH; ++s)
    for (int t = 0; t < MOST; ++t) slots[s][t] = table[s][t / PAGE] * PAGE + t % PAGE;

  static float q[MOST * HEADS * DIM], k[MOST * KV_HEADS * DIM], v[MOST * KV_HEADS * DIM],
      out[MOST * HEADS * DIM], cos_sin[MOST * DIM];
  struct layer l = {.memory = NULL};
  pthread_barrier_init(&l.barrier, NULL, THREADS);
  size_t cached[BATCH] = {0, 0};
  for (int step = 0; step < 4; ++step) {
    /* First a prompt of 30 tokens and one of 11; then the first decodes while the second has a
     * prompt again. */
    size_t const added[BATCH] = {step == 0 ? 30 : 1, step == 0 ? 11 : 7};
    int64_t positions[MOST], written[MOST];
    size_t tokens = 0;
    for (int s = 0; s < BATCH; ++s) {
      l.of[s] = (posenc1_attention){
          .queries = {.data = q + tokens * HEADS * DIM, .format = POSENC1_F32},
          .outputs = {.data = out + tokens * HEADS * DIM, .format = POSENC1_F32},
          .keys = k_cache,
          .values = v_cache,
          .query_tokens = added[s],
          .tokens = cached[s] + added[s],
          .heads = HEADS,
          .kv_heads = KV_HEADS,
          .head_dim = DIM};
      l.of[s].keys.slots = l.of[s].values.slots = slots[s];
      for (size_t i = 0; i < added[s]; ++i, ++tokens, ++cached[s]) {
        positions[tokens] = (int64_t)cached[s], written[tokens] = slots[s][cached[s]];
        project(q + tokens * HEADS * DIM, HEADS * DIM, cached[s]);
        project(k + tokens * KV_HEADS * DIM, KV_HEADS * DIM, cached[s] + 1);
        project(v + tokens * KV_HEADS * DIM, KV_HEADS * DIM, cached[s] + (size_t)s);
      }
    }
    must(posenc1_write_rows(maker, positions, NULL, tokens, POSENC1_F32, cos_sin));
    l.rows = (posenc1_rows){.cos_sin = cos_sin, .tokens = tokens, .maker = maker};
    posenc1_operand const of_queries = {.from = {.data = q, .format = POSENC1_F32},
                                        .heads = HEADS,
                                        .head_dim = DIM,
                                        .layout = POSENC1_HALVES,
                                        .norm = {.eps = 1e-6}}; /* Qwen 3's, with weights of 1 */
    l.step[0] = l.step[1] = l.step[2] = of_queries;
    l.step[1].heads = l.step[2].heads = KV_HEADS;
    l.step[1].from.data = k, l.step[1].to = k_cache, l.step[1].to.slots = written;
    l.step[2].from.data = v, l.step[2].to = v_cache, l.step[2].to.slots = written;
    l.step[2].layout = POSENC1_UNROTATED, l.step[2].norm = (posenc1_norm){.eps = 0};
    size_t needed;
    must(posenc1_attention_memory_of(l.of, BATCH, THREADS, &needed));
    if (needed > l.bytes) l.memory = realloc(l.memory, l.bytes = needed);

    pthread_t threads[THREADS];
    struct thread of[THREADS];
    for (size_t i = 0; i < THREADS; ++i) {
      of[i] = (struct thread){&l, i};
      pthread_create(&threads[i], NULL, run, &of[i]);
    }
    for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    printf("%zu tokens: %.3f %.3f\n", tokens, out[0], out[tokens * HEADS * DIM - 1]);
  }
  pthread_barrier_destroy(&l.barrier);
  posenc1_row_maker_destroy(maker), posenc1_frequencies_destroy(f);
  free(l.memory), free(k_cache.data), free(v_cache.data);
  return 0;
}
