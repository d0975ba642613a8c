// report: AddressSanitizer: heap-use-after-free
// flags: -fsanitize=address
#include <stdlib.h>

struct node {
    struct node *next;
    int value;
};

static int sum(struct node *list) {
    int total = 0;
    for (struct node *node = list; node; node = node->next) {
        total += node->value;
        free(node); // and then its next is read
    }
    return total;
}

int main(int argc, char **argv) {
    struct node *list = 0;
    for (int i = 0; i < 4 + argc; i++) {
        struct node *node = malloc(sizeof *node);
        *node = (struct node){list, i};
        list = node;
    }
    return sum(list) != 10;
}
