package redisproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Installer finds a Redis server program and installs one where it can. Its fields are the operating system's, for tests
// to replace.
type Installer struct {
	LookPath func(name string) (path string, err error)
	Run      func(ctx context.Context, command []string) error
	Root     bool      // the process may install packages
	Out      io.Writer // is told which commands are run
}

// System is the Installer of this machine. What its commands print goes to out.
func System(out io.Writer) Installer {
	return Installer{
		LookPath: exec.LookPath,
		Root:     os.Geteuid() == 0,
		Out:      out,
		Run: func(ctx context.Context, command []string) error {
			cmd := exec.CommandContext(ctx, command[0], command[1:]...)
			cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
			cmd.Stdout, cmd.Stderr = out, out
			return cmd.Run()
		},
	}
}

// manager is a package manager and how it installs a Redis server.
type manager struct {
	program  string
	commands [][]string
	asRoot   bool
}

var managers = []manager{
	{"apt-get", [][]string{{"apt-get", "update"}, {"apt-get", "install", "-y", "--no-install-recommends", "redis-server"}}, true},
	{"dnf", [][]string{{"dnf", "install", "-y", "redis"}}, true},
	{"apk", [][]string{{"apk", "add", "redis"}}, true},
	{"pacman", [][]string{{"pacman", "-S", "--noconfirm", "valkey"}}, true},
	{"zypper", [][]string{{"zypper", "install", "-y", "redis"}}, true},
	{"brew", [][]string{{"brew", "install", "redis"}}, false},
}

// Find returns the path of redis-server or valkey-server.
func (i Installer) Find() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := i.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no redis-server or valkey-server in PATH")
}

// Ensure finds a server program or installs one with the system's package manager. The error says in one line what to
// install when it cannot.
func (i Installer) Ensure(ctx context.Context) (string, error) {
	path, missing := i.Find()
	if missing == nil {
		return path, nil
	}
	for _, m := range managers {
		if _, err := i.LookPath(m.program); err != nil {
			continue
		}
		last := strings.Join(m.commands[len(m.commands)-1], " ")
		if m.asRoot && !i.Root {
			return "", fmt.Errorf("%w: install one with: sudo %s", missing, last)
		}
		for _, command := range m.commands {
			fmt.Fprintf(i.Out, "%v, so running: %s\n", missing, strings.Join(command, " "))
			if err := i.Run(ctx, command); err != nil {
				return "", fmt.Errorf("%w: %s: %w", missing, strings.Join(command, " "), err)
			}
		}
		return i.Find()
	}
	return "", fmt.Errorf("%w: install Redis 6.2 or later, or Valkey", missing)
}
