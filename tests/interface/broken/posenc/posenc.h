/* A release that had more. */
typedef enum posenc1_layout {
  POSENC1_HALVES = 1,
  POSENC1_INTERLEAVED = 2,
  POSENC1_UNROTATED = 3
} posenc1_layout;
typedef struct posenc1_parameter {
  double number; /* now second */
  char const* name;
  double const* list;
  size_t count;
} posenc1_parameter;
void posenc1_gone(void);
