// Whether standard output was closed when the process began. Rust's runtime opens /dev/null in its place before `main`, so that
// what is written there is lost without an error.
#include <fcntl.h>
#include <unistd.h>

static int was_closed;

__attribute__((constructor)) static void look(void) { was_closed = fcntl(STDOUT_FILENO, F_GETFD) == -1; }

int chordal_stdout_was_closed(void) { return was_closed; }
