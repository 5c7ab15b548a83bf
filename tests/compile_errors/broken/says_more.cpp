// posenc: one must be: a function
static_assert(sizeof(int) == 0, "posenc: one must be: a function");
static_assert(sizeof(int) == 0, "posenc: another must be: one too");
