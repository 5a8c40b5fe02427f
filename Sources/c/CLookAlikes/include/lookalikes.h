// Which letters look alike, or are one, when names are compared: tables that scripts/lookalikes makes, and a look into them. They are read
// where they lie in the program's file, so a server in which nobody's name needs them has none of them in memory.
#ifndef LOOKALIKES_H
#define LOOKALIKES_H

#include <stdint.h>

// What stands for a letter: `count` letters from `start` on.
struct lookalikes_entry {
  uint32_t scalar;
  uint16_t start, count;
};

// Letters of one set of scripts.
struct lookalikes_range {
  uint32_t first, last;
  uint16_t set;
};

// A bit for each script, by ICU's number of it.
struct lookalikes_set {
  uint64_t a, b, c, d;
};

extern const uint32_t lookalikes_letters[];
// NFKC_Casefold (Unicode Standard Annex 44) and prototypes (UTS 39, section 4), of letters that do not decompose, by letter.
extern const struct lookalikes_entry lookalikes_folds[], lookalikes_prototypes[];
extern const int32_t lookalikes_folds_count, lookalikes_prototypes_count;
// Script_Extensions with those that are written with several (UTS 39, section 5.1); letters of all scripts are in no range.
extern const struct lookalikes_range lookalikes_scripts[];
extern const int32_t lookalikes_scripts_count;
extern const struct lookalikes_set lookalikes_sets[];

static inline struct lookalikes_entry lookalikes_find(const struct lookalikes_entry *table, int32_t count, uint32_t scalar) {
  int32_t low = 0, high = count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (table[middle].scalar == scalar) return table[middle];
    if (table[middle].scalar < scalar) low = middle + 1;
    else high = middle;
  }
  // Nothing stands for it but itself.
  return (struct lookalikes_entry){UINT32_MAX, 0, 0};
}

static inline struct lookalikes_entry lookalikes_fold(uint32_t scalar) {
  return lookalikes_find(lookalikes_folds, lookalikes_folds_count, scalar);
}

static inline struct lookalikes_entry lookalikes_prototype(uint32_t scalar) {
  return lookalikes_find(lookalikes_prototypes, lookalikes_prototypes_count, scalar);
}

static inline uint32_t lookalikes_letter(uint16_t place) { return lookalikes_letters[place]; }

// All bits for a letter of all scripts.
static inline struct lookalikes_set lookalikes_scripts_of(uint32_t scalar) {
  int32_t low = 0, high = lookalikes_scripts_count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (lookalikes_scripts[middle].last < scalar) low = middle + 1;
    else high = middle;
  }
  if (low < lookalikes_scripts_count && lookalikes_scripts[low].first <= scalar) return lookalikes_sets[lookalikes_scripts[low].set];
  return (struct lookalikes_set){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
}

#endif
