# shellcheck shell=bash
# Every allocator of chordal and each of their options, with the register lists
# and programs for trying them. To be sourced. Each can be narrowed:
#
#   VARIANTS="ch-o1,spill-free --swap xor"   which (default: all)
#   LISTS="4 8 all i386 i386-5"              which register lists (default: without i386-5); i386 is that target with all
#   PROGRAMS="sqlite lua"                    which programs (default: the five small ones)
#   JOBS=2                                   how many at a time

ALL_VARIANTS="spill-free,tuned,ch-o1,ch-o2,ch-o3,hack,linear-scan,irc,local,simple"
for options in "--spill belady" "--spill min" "--coalesce none" "--coalesce punctual" "--coalesce recolor" "--pins perm --coalesce units" \
    "--spill min --coalesce recolor" "--spill priced" "--spill priced --coalesce recolor" "--forms on --merge-copies on --park on --sink on --delay on --spare-jumps on --separate-saves on --split-ties on --split-arguments on --coalesce recolor" "--store-hoist off" "--load-lower off" "--load-lower weighted" "--memory-coalesce off" "--pins avoid" \
    "--swap xchg" "--swap xor" "--rematerialise off" "--eliminate spare-register" "--eliminate on-demand" \
    "--frugal off --eliminate spare-register" "--frugal off --eliminate on-demand"; do
    ALL_VARIANTS+=",spill-free $options"
done
for options in "--pins repair" "--frugal off --eliminate spare-register" "--frugal off --eliminate on-demand"; do
    ALL_VARIANTS+=",ch-o3 $options"
done
VARIANTS=${VARIANTS:-$ALL_VARIANTS}
LISTS=${LISTS:-4 8 all i386}
JOBS=${JOBS:-2}
# The programs of the first corpus: all nineteen would take a day.
export PROGRAMS=${PROGRAMS:-sqlite lua zlib bzip2 gzip}

# config LIST: the configuration of the corpus that a list is for.
config() { case $1 in i386*) say i386 ;; *) say x86-64 ;; esac; }

# registers LIST: the arguments that hold chordal to it.
registers() { case $1 in i386 | all) ;; *) say "--registers ${1#i386-}" ;; esac; }

# each_variant FUNCTION: calls it with each variant and list.
each_variant() {
    local list variant variants
    IFS=, read -ra variants <<<"$VARIANTS"
    for list in $LISTS; do
        for variant in "${variants[@]}"; do "$1" "$variant" "$list"; done
    done
}
