package redisproc

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// machine is a computer with some programs; installing adds redis-server.
type machine struct {
	programs []string
	ran      []string
	fails    bool
}

func (m *machine) installer(root bool) Installer {
	return Installer{
		Root: root,
		Out:  io.Discard,
		LookPath: func(name string) (string, error) {
			if slices.Contains(m.programs, name) {
				return "/bin/" + name, nil
			}
			return "", exec.ErrNotFound
		},
		Run: func(_ context.Context, command []string) error {
			if m.fails {
				return errors.New("no network")
			}
			m.ran = append(m.ran, strings.Join(command, " "))
			m.programs = append(m.programs, "redis-server")
			return nil
		},
	}
}

func TestEnsureUsesWhatIsInstalled(t *testing.T) {
	for _, program := range []string{"redis-server", "valkey-server"} {
		m := &machine{programs: []string{program, "apt-get"}}
		if path, err := m.installer(true).Ensure(t.Context()); err != nil || path != "/bin/"+program || len(m.ran) > 0 {
			t.Errorf("got %s, %v, ran %v", path, err, m.ran)
		}
	}
}

func TestEnsureInstallsWithTheSystemsPackageManager(t *testing.T) {
	for _, manager := range managers {
		m := &machine{programs: []string{manager.program}}
		path, err := m.installer(manager.asRoot).Ensure(t.Context())
		if err != nil || path != "/bin/redis-server" || len(m.ran) != len(manager.commands) {
			t.Errorf("%s: got %s, %v, ran %v", manager.program, path, err, m.ran)
		}
	}
}

func TestEnsureSaysInOneLineWhatToInstall(t *testing.T) {
	for want, m := range map[string]*machine{
		"sudo apt-get install -y --no-install-recommends redis-server": {programs: []string{"apt-get"}},
		"install Redis 6.2 or later, or Valkey":                        {},
	} {
		_, err := m.installer(false).Ensure(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || len(m.ran) > 0 {
			t.Errorf("got %v, ran %v, want %s", err, m.ran, want)
		}
	}
}

func TestEnsureReportsAFailedInstallation(t *testing.T) {
	m := &machine{programs: []string{"apt-get"}, fails: true}
	if _, err := m.installer(true).Ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "no network") {
		t.Errorf("got %v", err)
	}
}
