/* SPDX-License-Identifier: Apache-2.0
 * files.hpp - files of known contents in the working folder, for reads.hpp and tasks.cpp.
 *
 * They have no names once they are open, so that nothing is left of them; those that are to be opened again lose theirs at
 * the end. No two are alike, and no two parts of one. */
#ifndef STEELYARD_FILE_FILES_HPP
#define STEELYARD_FILE_FILES_HPP

#include "probe.hpp"
#include "descriptors.h" /* wants the one above */

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

inline constexpr std::size_t page = 4096;

/* What stands at a word of a file. */
inline std::uint64_t word_of(std::size_t file, std::size_t word)
{
    std::uint64_t mixed = (file * 1000003 + word + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ (mixed >> 29);
}

class file_set
{
public:
    /* Room on the disk from one file to the next, so that no two reads are neighbours there. */
    static constexpr off_t spread = 64 * 1024;

    /* named: they can be opened again, by the name that name(i) gives. */
    file_set(std::size_t count, std::size_t size, bool direct, bool named = false) : size_(size), named_(named)
    {
        descriptors_allow(count);
        std::vector<std::uint64_t> contents(size / sizeof(std::uint64_t));
        for (std::size_t file = 0; file < count; file++) {
            names_.push_back(std::to_string(file));
            for (std::size_t word = 0; word < contents.size(); word++)
                contents[word] = word_of(file, word);
            fds_.push_back(make(names_.back(), contents, direct));
            order_.push_back(static_cast<std::uint32_t>(file));
        }
        if (direct)
            for (int fd : fds_)
                if (fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
                    probe_fail("cannot bring a file to the disk: %s", strerror(errno));
        /* The same order in every run, and another than that in which they were made. */
        std::shuffle(order_.begin(), order_.end(), std::mt19937(20221008));
    }
    file_set(const file_set &) = delete;
    file_set &operator=(const file_set &) = delete;
    ~file_set()
    {
        for (int fd : fds_)
            close(fd);
        if (named_)
            for (const std::string &name : names_)
                unlink(name.c_str());
    }

    [[nodiscard]] std::size_t size() const noexcept
    {
        return size_;
    }
    /* The file of read number i. */
    [[nodiscard]] std::size_t file(std::uint64_t i) const noexcept
    {
        return order_[i % order_.size()];
    }
    [[nodiscard]] int fd(std::uint64_t i) const noexcept
    {
        return fds_[file(i)];
    }

    [[nodiscard]] const char *name(std::uint64_t i) const noexcept
    {
        return names_[file(i)].c_str();
    }

    /* Whether read number i has brought all of the file, by a word of each page; wipes these, so that what an earlier
     * read has brought proves nothing later. */
    [[nodiscard]] bool brought(std::uint64_t *into, std::uint64_t i) const noexcept
    {
        constexpr std::size_t words = page / sizeof(std::uint64_t);
        bool right = true;
        for (std::size_t word = 0; word < size_ / sizeof(std::uint64_t); word += words) {
            right = right && into[word] == word_of(file(i), word);
            into[word] = 0;
        }
        return right;
    }
    /* Whether all other words are right as well. */
    [[nodiscard]] bool brought_all(const std::uint64_t *into, std::uint64_t i) const noexcept
    {
        constexpr std::size_t words = page / sizeof(std::uint64_t);
        for (std::size_t word = 0; word < size_ / sizeof(std::uint64_t); word++)
            if (word % words != 0 && into[word] != word_of(file(i), word))
                return false;
        return true;
    }

private:
    int make(const std::string &name, const std::vector<std::uint64_t> &contents, bool direct) const
    {
        const std::size_t size = contents.size() * sizeof contents[0];
        const int writing = open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (writing < 0)
            probe_fail("cannot make a file in the working folder: %s", strerror(errno));
        /* Reserves what is not written; a file system that cannot has its files closer together. */
        if (fallocate(writing, FALLOC_FL_KEEP_SIZE, 0, std::max(spread, static_cast<off_t>(size))) != 0)
            probe_caveat("the file system reserves no room (%s): files may lie side by side", strerror(errno));
        const bool written = write(writing, contents.data(), size) == static_cast<ssize_t>(size);
        const int error = errno;
        const int reading = open(name.c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
        const int refusal = errno;
        close(writing);
        if (!named_)
            unlink(name.c_str());
        if (!written)
            probe_fail("cannot write %zu bytes to a file: %s", size, strerror(error));
        if (reading < 0 && refusal == EINVAL)
            probe_skip("the file system of the working folder refuses O_DIRECT; TMPDIR names another folder");
        if (reading < 0)
            probe_fail("cannot open a file again: %s", strerror(refusal));
        return reading;
    }

    std::size_t size_;
    bool named_;
    std::vector<std::string> names_;
    std::vector<int> fds_;
    std::vector<std::uint32_t> order_;
};

#endif
