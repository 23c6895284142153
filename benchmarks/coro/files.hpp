// SPDX-License-Identifier: Apache-2.0
// A thousand files of 64 KiB, of each of which the first 4 KiB are read: no two reads are neighbours on the disk.
#pragma once

#include "bench.hpp"

#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace bench
{

constexpr std::size_t files = 1000, block = 4096, file_size = 65536;
constexpr unsigned depth = 128;

// Opened with O_DIRECT in the working folder, which is made a place for them: file i is full of the number i.
class scattered
{
  public:
    scattered() : memory_(static_cast<std::byte *>(std::aligned_alloc(block, files * block)))
    {
        std::vector<std::uint32_t> content(file_size / sizeof(std::uint32_t));
        for (std::uint32_t i = 0; i < files; i++) {
            const std::string name = "f" + std::to_string(i);
            if (::access(name.c_str(), R_OK) != 0) {
                std::fill(content.begin(), content.end(), i);
                const int made = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
                must(::write(made, content.data(), file_size) == static_cast<ssize_t>(file_size) &&
                         ::fsync(made) == 0 && ::close(made) == 0,
                     "cannot write the files to read");
            }
            fds_.push_back(::open(name.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
            must(fds_.back() >= 0, "cannot open a file with O_DIRECT");
        }
    }
    scattered(const scattered &) = delete;
    scattered &operator=(const scattered &) = delete;
    ~scattered()
    {
        for (const int fd : fds_)
            ::close(fd);
        std::free(memory_);
    }

    [[nodiscard]] int fd(std::size_t i) const
    {
        return fds_[i];
    }
    [[nodiscard]] std::byte *buffer(std::size_t i) const
    {
        return memory_ + i * block;
    }
    void forget() const
    {
        std::memset(memory_, 0xff, files * block);
    }
    // Every byte of every file has been read.
    void check() const
    {
        for (std::uint32_t i = 0; i < files; i++)
            for (std::size_t at = 0; at < block; at += sizeof i)
                must(std::memcmp(buffer(i) + at, &i, sizeof i) == 0, "a read brought something else");
    }

  private:
    std::byte *memory_;
    std::vector<int> fds_;
};

// run() reads all files once; the time is one read's.
template <class Run> int report_reads(const scattered &of, Run run)
{
    of.forget();
    run();
    of.check();
    std::array<double, batches> each;
    for (double &one : each) {
        const auto start = std::chrono::steady_clock::now();
        run();
        one = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / files;
    }
    of.check();
    std::sort(each.begin(), each.end());
    std::printf("%.1f\n", each[batches / 4]);
    return 0;
}

} // namespace bench
