// SPDX-License-Identifier: Apache-2.0
// Control groups and autogroups: how the kernel divides the CPUs among groups of tasks, before it does among the tasks.
//
// A class of tasks that has a weight gets a control group of its own below that of the program. The groups are removed
// when all processes that could be in them are gone, whoever was killed: a keeper waits for that.
#pragma once

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schedsim/loads.hpp"

namespace schedsim
{

// The control group of this process by which CPUs are divided.
struct ControlGroup {
    std::string folder;
    std::string path; // below the root of its tree, "/" for the root itself
    bool second = false; // of the second version, in which all controllers share a tree
};

inline bool holds(const std::string &list, const std::string &wanted)
{
    std::istringstream items(list);
    for (std::string item; std::getline(items, item, ',');)
        if (item == wanted)
            return true;
    return false;
}

// Throws std::runtime_error if there is none.
inline ControlGroup own_control_group()
{
    ControlGroup found;
    bool known = false;
    std::ifstream groups("/proc/self/cgroup"), mounts("/proc/mounts");
    for (std::string line; std::getline(groups, line);) { // number:controllers:path
        const std::size_t first = line.find(':'), last = line.find(':', first + 1);
        const std::string controllers = line.substr(first + 1, last - first - 1);
        const bool of_first = holds(controllers, "cpu");
        if (of_first || (controllers.empty() && !known)) {
            found.path = line.substr(last + 1);
            found.second = !of_first;
            known = true;
        }
    }
    for (std::string line; known && std::getline(mounts, line);) {
        std::istringstream fields(line);
        std::string device, folder, type, options;
        fields >> device >> folder >> type >> options;
        if (found.second ? type == "cgroup2" : type == "cgroup" && holds(options, "cpu")) {
            found.folder = folder + (found.path == "/" ? "" : found.path);
            return found;
        }
    }
    throw std::runtime_error("there are no control groups with the controller cpu here");
}

// Writes a file of the kernel's, and throws std::runtime_error with what it could not do.
inline void tell(const std::string &file, const std::string &value, const std::string &doing)
{
    std::ofstream opened(file);
    opened << value << std::flush;
    if (!opened)
        throw std::runtime_error(doing + " is not possible (" + file + ": " + std::strerror(errno) + ")");
}

// Puts the calling process into a session of its own, whose autogroup has this nice value.
inline void take_autogroup(int nice)
{
    int on = 0;
    std::ifstream("/proc/sys/kernel/sched_autogroup_enabled") >> on;
    if (on != 1)
        throw std::runtime_error("autogroups are off, or not in this kernel: sysctl kernel.sched_autogroup_enabled=1");
    const std::string path = own_control_group().path;
    if (path != "/")
        throw std::runtime_error("only tasks of the root control group have autogroups, and these are in " + path);
    setsid();
    if (nice != 0)
        tell("/proc/self/autogroup", std::to_string(nice), "a nice value of an autogroup");
}

class ControlGroups
{
  public:
    // Throws std::runtime_error if a class has a weight and there are no control groups.
    explicit ControlGroups(const std::vector<Mix::Class> &classes)
    {
        for (std::size_t of = 0; of < classes.size(); of++)
            if (classes[of].weight > 0) {
                own_ = own_control_group();
                folders_[of] = own_.folder + "/schedsim-" + std::to_string(getpid()) + "-" + std::to_string(of);
            }
        if (!folders_.empty())
            start_keeper();
    }

    ControlGroups(const ControlGroups &) = delete;
    ControlGroups &operator=(const ControlGroups &) = delete;

    // Returns when the groups are gone. No process may be in them any more.
    ~ControlGroups()
    {
        if (keeper_ < 0)
            return;
        close(held_);
        waitpid(keeper_, nullptr, 0);
    }

    // Throws std::runtime_error with what the kernel does not allow.
    void create(const std::vector<Mix::Class> &classes) const
    {
        for (const auto &[of, folder] : folders_) {
            const std::string doing = "a control group for " + classes[of].name;
            if (mkdir(folder.c_str(), 0755) != 0)
                throw std::runtime_error(doing + " is not possible (" + folder + ": " + std::strerror(errno) + ")");
            // 100 is the weight of a group that nobody has given one; in the first version it is called 1024 shares.
            const int weight = classes[of].weight;
            tell(folder + (own_.second ? "/cpu.weight" : "/cpu.shares"),
                 std::to_string(own_.second ? weight : weight * 1024 / 100), doing + " with a weight");
        }
    }

    // Puts the calling process into the group of its class, if that has one.
    void enter(std::size_t of) const
    {
        const auto found = folders_.find(of);
        if (found != folders_.end())
            tell(found->second + "/cgroup.procs", "0", "to enter a control group");
    }

  private:
    // Every process that is started from now on holds the end of the pipe that the keeper waits for.
    void start_keeper()
    {
        int ends[2];
        if (pipe(ends) != 0 || (keeper_ = fork()) < 0)
            throw std::runtime_error(std::string("no process can be started: ") + std::strerror(errno));
        if (keeper_ == 0) {
            setsid(); // what ends the others does not end it
            close(ends[1]);
            for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
                close(standard);
            char nothing = 0;
            while (read(ends[0], &nothing, 1) < 0 && errno == EINTR)
                ;
            // A process that ends closes its files before it leaves its control group.
            for (const auto &[of, folder] : folders_)
                for (int tries = 10000; rmdir(folder.c_str()) != 0 && errno == EBUSY && tries > 0; tries--)
                    usleep(1000);
            _exit(0);
        }
        close(ends[0]);
        held_ = ends[1];
    }

    ControlGroup own_;
    std::map<std::size_t, std::string> folders_; // by the number of the class
    int held_ = -1;
    pid_t keeper_ = -1;
};

} // namespace schedsim
