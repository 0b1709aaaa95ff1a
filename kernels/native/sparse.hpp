// Sparse matrices on their way in: walking an R1CS section, and giving equal coefficients one number.
// Everything here reads bytes that came from outside; every length and index is checked before use.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace cuzkd {

// Where a walk over untrusted input stopped, and why.
struct SparseFault {
    enum Kind : int { truncated = 1, column = 2, trailing = 3, noncanonical = 4 } kind;
    uint64_t constraint;
    int matrix;
};

// A section of constraints: per constraint three linear combinations, each u32 count, then count times
// {u32 wire, 32 bytes value}.
class R1csWalk {
  public:
    static constexpr size_t kTermBytes = 36;

    R1csWalk(const uint8_t* data, size_t size, uint64_t constraints, uint32_t wires)
        : data_(data), size_(size), constraints_(constraints), wires_(wires) {}

    // Writes the running number of terms of each matrix into row_ptr[m][i + 1].
    std::optional<SparseFault> count(uint64_t* const row_ptr[3], const uint64_t modulus[4]) const {
        size_t at = 0;
        for (int m = 0; m < 3; ++m) row_ptr[m][0] = 0;
        for (uint64_t i = 0; i < constraints_; ++i) {
            for (int m = 0; m < 3; ++m) {
                if (size_ - at < 4) return SparseFault{SparseFault::truncated, i, m};
                const uint64_t terms = load32(at);
                at += 4;
                if ((size_ - at) / kTermBytes < terms) return SparseFault{SparseFault::truncated, i, m};
                for (uint64_t t = 0; t < terms; ++t, at += kTermBytes) {
                    if (load32(at) >= wires_) return SparseFault{SparseFault::column, i, m};
                    uint64_t value[4];
                    std::memcpy(value, data_ + at + 4, 32);
                    if (!below(value, modulus)) return SparseFault{SparseFault::noncanonical, i, m};
                }
                row_ptr[m][i + 1] = row_ptr[m][i] + terms;
            }
        }
        if (at != size_) return SparseFault{SparseFault::trailing, constraints_, 0};
        return std::nullopt;
    }

    // Writes wires and values of bytes that `count` has accepted; false when they don't fit what it counted.
    bool fill(uint32_t* const cols[3], uint64_t* const values[3], const size_t capacity[3]) const {
        size_t at = 0;
        uint64_t next[3] = {0, 0, 0};
        for (uint64_t i = 0; i < constraints_; ++i) {
            for (int m = 0; m < 3; ++m) {
                if (size_ - at < 4) return false;
                const uint32_t terms = load32(at);
                at += 4;
                if (capacity[m] - next[m] < terms || (size_ - at) / kTermBytes < terms) return false;
                for (uint32_t t = 0; t < terms; ++t, at += kTermBytes, ++next[m]) {
                    cols[m][next[m]] = load32(at);
                    std::memcpy(values[m] + 4 * next[m], data_ + at + 4, 32);
                }
            }
        }
        return true;
    }

  private:
    uint32_t load32(size_t at) const {
        uint32_t v;
        std::memcpy(&v, data_ + at, 4);
        return v;
    }

    static bool below(const uint64_t v[4], const uint64_t modulus[4]) {
        for (int k = 3; k >= 0; --k)
            if (v[k] != modulus[k]) return v[k] < modulus[k];
        return false;
    }

    const uint8_t* data_;
    size_t size_;
    uint64_t constraints_;
    uint32_t wires_;
};

// Numbers 32-byte values by first appearance: an open-addressing table that doubles at half load.
class Dictionary {
  public:
    explicit Dictionary(uint64_t seed) : seed_(seed * 0x9e3779b97f4a7c15ull), slots_(1u << 10, kEmpty) {}

    // codes[i] for count values of four limbs each. Memory is asked for some values ahead of its use.
    void code(const uint64_t* values, size_t count, uint32_t* codes) {
        uint64_t hashes[kAhead];
        for (size_t begin = 0; begin < count; begin += kAhead) {
            const size_t some = count - begin < kAhead ? count - begin : kAhead;
            const uint64_t* value = values + 4 * begin;
            for (size_t i = 0; i < some; ++i) {
                hashes[i] = hash(value + 4 * i);
                __builtin_prefetch(&slots_[hashes[i] & mask()]);
            }
            for (size_t i = 0; i < some; ++i) {
                const uint32_t likely = slots_[hashes[i] & mask()];
                if (likely != kEmpty) __builtin_prefetch(&table_[4 * size_t{likely}]);
            }
            for (size_t i = 0; i < some; ++i) codes[begin + i] = code(value + 4 * i, hashes[i]);
        }
    }

    const std::vector<uint64_t>& table() const { return table_; }
    size_t size() const { return table_.size() / 4; }

  private:
    static constexpr uint32_t kEmpty = 0xffffffffu;
    static constexpr size_t kAhead = 32;

    size_t mask() const { return slots_.size() - 1; }

    uint64_t hash(const uint64_t v[4]) const {
        uint64_t h = seed_;
        for (int k = 0; k < 4; ++k) {
            h = (h ^ v[k]) * 0xff51afd7ed558ccdull;
            h ^= h >> 32;
        }
        return h;
    }

    uint32_t code(const uint64_t value[4], uint64_t hashed) {
        for (size_t i = hashed & mask();; i = (i + 1) & mask()) {
            const uint32_t found = slots_[i];
            if (found == kEmpty) return insert(i, value);
            if (std::memcmp(table_.data() + 4 * size_t{found}, value, 32) == 0) return found;
        }
    }

    uint32_t insert(size_t slot, const uint64_t value[4]) {
        const auto code = static_cast<uint32_t>(size());
        table_.insert(table_.end(), value, value + 4);
        slots_[slot] = code;
        if (2 * size() > slots_.size()) grow();
        return code;
    }

    void grow() {
        std::vector<uint32_t> bigger(2 * slots_.size(), kEmpty);
        slots_.swap(bigger);
        for (uint32_t c = 0; c < size(); ++c) {
            size_t i = hash(table_.data() + 4 * size_t{c}) & mask();
            while (slots_[i] != kEmpty) i = (i + 1) & mask();
            slots_[i] = c;
        }
    }

    uint64_t seed_;
    std::vector<uint32_t> slots_;
    std::vector<uint64_t> table_;
};

}  // namespace cuzkd
