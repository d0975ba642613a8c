# shellcheck shell=bash
# Every allocator of chordal and each of their options, with the register lists
# and programs for trying them. To be sourced. Each can be narrowed:
#
#   VARIANTS="ch-o1,spill-free --swap xor"   which (default: all)
#   LISTS="4 8 all i386 i386-5"              which register lists (default: without i386-5); i386 is that configuration of
#                                            the corpus with all registers, and v3, profile, v3-8 alike
#   PROGRAMS="sqlite lua"                    which programs (default: the five small ones)
#   JOBS=2                                   how many at a time

ALL_VARIANTS="spill-free,bin-packing,tuned,ch-o1,ch-o2,ch-o3,hack,linear-scan,irc,out-of-ssa,local,simple"
# Options are written without commas: NAME=VALUE may be repeated.
for options in "--spill belady" "--spill min" "--spill second-chance" "--spill priced" "--spill min --coalesce recolour" "--spill priced --coalesce recolour" \
    "--coalesce none" "--coalesce punctual" "--coalesce recolour" "--pins perm --coalesce units" "--pins avoid" \
    "--prepare all --splits all --set spare-jumps=on --set separate-saves=on --coalesce recolour" \
    "--phi-memory store-hoist=off" "--phi-memory load-lower=off" "--phi-memory load-lower=weighted" "--phi-memory memory-coalesce=off" \
    "--phi-memory eliminate=spare-register" "--phi-memory eliminate=on-demand" \
    "--memory-operands none" "--swap xchg" "--swap xor" "--rematerialise off"; do
    ALL_VARIANTS+=",spill-free $options"
done
for options in "--pins repair" "--phi-memory eliminate=spare-register" "--phi-memory eliminate=on-demand"; do
    ALL_VARIANTS+=",ch-o3 $options"
done
for options in "--prepare none" "--prepare copies" "--splits none" "--memory-operands spilled" "--set weigh-size=off"; do
    ALL_VARIANTS+=",tuned $options"
done
for options in "after=graph-colouring" "interference=intersection" "merge=at-once"; do ALL_VARIANTS+=",out-of-ssa --out-of-ssa $options"; done
VARIANTS=${VARIANTS:-$ALL_VARIANTS}
LISTS=${LISTS:-4 8 all i386}
JOBS=${JOBS:-2}
# The programs of the first corpus: all nineteen would take a day.
export PROGRAMS=${PROGRAMS:-sqlite lua zlib bzip2 gzip}

# config LIST: the configuration of the corpus that a list is for.
config() { case $1 in [0-9]* | all) say x86-64 ;; *) say "${1%-[0-9]*}" ;; esac; }

# count_of LIST: the number of registers, or all.
count_of() { case $1 in [0-9]*) say "$1" ;; *-[0-9]*) say "${1##*-}" ;; *) say all ;; esac; }

# registers LIST: the arguments that hold chordal to it.
registers() { case $(count_of "$1") in all) ;; *) say "--registers $(count_of "$1")" ;; esac; }

# each_variant FUNCTION: calls it with each variant and list.
each_variant() {
    local list variant variants
    IFS=, read -ra variants <<<"$VARIANTS"
    for list in $LISTS; do
        for variant in "${variants[@]}"; do "$1" "$variant" "$list"; done
    done
}
