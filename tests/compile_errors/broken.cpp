// Cases that the check must see fail, each in its way.

#ifdef case_says_nothing
#endif

// posenc: a sentence that nobody says
#ifdef case_compiles
#endif

// compiles
#ifdef case_does_not_compile
int x = not_declared;
#endif

// posenc: a sentence
#ifdef case_says_it_second
static_assert(sizeof(int) == 0, "something else first");
static_assert(sizeof(int) == 0, "posenc: a sentence");
#elif defined case_says_something_else
static_assert(sizeof(int) == 0, "posenc: another sentence");
#endif

// posenc: one must be: a function
#ifdef case_says_more
static_assert(sizeof(int) == 0, "posenc: one must be: a function");
static_assert(sizeof(int) == 0, "posenc: another must be: one too");
#endif
