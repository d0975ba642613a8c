// A recursive-descent parser to a tree, an evaluator, constant folding, symbolic derivative, and an error path.
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
struct node { char op; double value; struct node *left, *right; };
static const char *at;
static int errors;

static struct node *make(char op, double v, struct node *l, struct node *r) {
    struct node *n = malloc(sizeof *n);
    *n = (struct node){op, v, l, r};
    return n;
}
static struct node *expression(void);
static void skip(void) { while (*at == ' ') at++; }

NOINLINE static struct node *primary(void) {
    skip();
    if (*at == '(') {
        at++;
        struct node *n = expression();
        skip();
        if (*at == ')') at++; else errors++;
        return n;
    }
    if (*at == '-') { at++; return make('n', 0, primary(), NULL); }
    if (isdigit((unsigned char)*at) || *at == '.') { char *end; double v = strtod(at, &end); at = end; return make('#', v, NULL, NULL); }
    if (*at == 'x') { at++; return make('x', 0, NULL, NULL); }
    if (!strncmp(at, "sin", 3)) { at += 3; return make('s', 0, primary(), NULL); }
    if (!strncmp(at, "cos", 3)) { at += 3; return make('c', 0, primary(), NULL); }
    errors++;
    if (*at) at++;
    return make('#', 0, NULL, NULL);
}
NOINLINE static struct node *power(void) {
    struct node *n = primary();
    skip();
    if (*at == '^') { at++; return make('^', 0, n, power()); }
    return n;
}
NOINLINE static struct node *term(void) {
    struct node *n = power();
    for (skip(); *at == '*' || *at == '/'; skip()) { char op = *at++; n = make(op, 0, n, power()); }
    return n;
}
NOINLINE static struct node *expression(void) {
    struct node *n = term();
    for (skip(); *at == '+' || *at == '-'; skip()) { char op = *at++; n = make(op, 0, n, term()); }
    return n;
}

NOINLINE static double eval(const struct node *n, double x) {
    switch (n->op) {
    case '#': return n->value;
    case 'x': return x;
    case 'n': return -eval(n->left, x);
    case 's': return sin(eval(n->left, x));
    case 'c': return cos(eval(n->left, x));
    case '+': return eval(n->left, x) + eval(n->right, x);
    case '-': return eval(n->left, x) - eval(n->right, x);
    case '*': return eval(n->left, x) * eval(n->right, x);
    case '/': return eval(n->left, x) / eval(n->right, x);
    default: return pow(eval(n->left, x), eval(n->right, x));
    }
}
NOINLINE static struct node *fold(struct node *n) {
    if (n->left) n->left = fold(n->left);
    if (n->right) n->right = fold(n->right);
    if (n->op == '#' || n->op == 'x') return n;
    int l = n->left->op == '#', r = !n->right || n->right->op == '#';
    if (l && r) return make('#', eval(n, 0), NULL, NULL);
    if (n->op == '*' && ((l && n->left->value == 0) || (n->right->op == '#' && n->right->value == 0))) return make('#', 0, NULL, NULL);
    if (n->op == '*' && l && n->left->value == 1) return n->right;
    if (n->op == '+' && l && n->left->value == 0) return n->right;
    if ((n->op == '+' || n->op == '-') && r && n->right->value == 0) return n->left;
    return n;
}
NOINLINE static struct node *derive(struct node *n) {
    switch (n->op) {
    case '#': return make('#', 0, NULL, NULL);
    case 'x': return make('#', 1, NULL, NULL);
    case 'n': return make('n', 0, derive(n->left), NULL);
    case 's': return make('*', 0, make('c', 0, n->left, NULL), derive(n->left));
    case 'c': return make('n', 0, make('*', 0, make('s', 0, n->left, NULL), derive(n->left)), NULL);
    case '+': case '-': return make(n->op, 0, derive(n->left), derive(n->right));
    case '*': return make('+', 0, make('*', 0, derive(n->left), n->right), make('*', 0, n->left, derive(n->right)));
    case '/': return make('/', 0, make('-', 0, make('*', 0, derive(n->left), n->right), make('*', 0, n->left, derive(n->right))), make('*', 0, n->right, n->right));
    default: return make('*', 0, make('*', 0, n->right, make('^', 0, n->left, make('#', n->right->value - 1, NULL, NULL))), derive(n->left));
    }
}
static int size(const struct node *n) { return 1 + (n->left ? size(n->left) : 0) + (n->right ? size(n->right) : 0); }

int main(void) {
    static const char *text[] = {"1 + 2 * 3 - 4 / 5", "x^3 - 2*x^2 + (x - 7) * -x", "sin(x)*cos(x/2) + 0*x + 1*x", "2^3^2 + (1 + (2 + (3 + x)))", "(1 + ", "3 ? x", "sin(sin(sin(x*x)))/(1+x^2)"};
    for (unsigned i = 0; i < sizeof text / sizeof *text; i++) {
        errors = 0;
        at = text[i];
        struct node *n = expression(), *d;
        int before = size(n);
        n = fold(n);
        d = fold(derive(n));
        printf("%d %d %d %.6f %.6f %.6f\n", errors, before, size(n), eval(n, 0.5), eval(d, 1.5), eval(fold(derive(d)), 0.75));
    }
    return 0;
}
