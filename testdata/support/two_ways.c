// Makes one program of an encoder and a decoder, so that one whole-program
// module has both directions of a library: `program ARGUMENT...` encodes,
// `program -d ARGUMENT...` decodes.
#include <string.h>

int encode_main(int count, char **words);
int decode_main(int count, char **words);

int main(int count, char **words) {
    if (count < 2 || strcmp(words[1], "-d") != 0)
        return encode_main(count, words);
    words[1] = words[0];
    return decode_main(count - 1, words + 1);
}
