// The verb curves as a program, which draws the first page's picture: all verbs take ten times as long to compile.
extern "C" int curves_verb(int argc, char** argv);

int main(int argc, char** argv) { return curves_verb(argc, argv); }
