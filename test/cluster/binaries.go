// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
)

// program is one that Build can build. Its package must be a tool of controlplane/go.mod.
type program struct {
	name, pkg, module string
}

var programs = []program{
	{Etcd, etcdModule, etcdModule},
	{Kubectl, kubernetesModule + "/cmd/kubectl", kubernetesModule},
	{APIServer, kubernetesModule + "/cmd/kube-apiserver", kubernetesModule},
	{ControllerManager, kubernetesModule + "/cmd/kube-controller-manager", kubernetesModule},
}

// selected returns the programs of those names, in the order of the table: the quick ones first, so
// that a download that fails does so within seconds.
func selected(names []string) ([]program, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var all []string
	var found []program
	for _, p := range programs {
		all = append(all, p.name)
		if len(names) == 0 || wanted[p.name] {
			found = append(found, p)
			delete(wanted, p.name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("no program %q to build; there are %s", name, strings.Join(all, ", "))
	}
	return found, nil
}

// pins is what controlplane/go.mod says.
type pins struct {
	folder   string            // of the module
	root     string            // of the repository
	versions map[string]string // by module
	content  []byte            // go.mod and go.sum, to tell one set of pins from another
}

// findPins looks for test/cluster/controlplane in folder and everywhere above it.
func findPins(folder string) (*pins, error) {
	start, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("find the pins of the control plane: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		module := filepath.Join(dir, "test", "cluster", "controlplane")
		if _, err := os.Stat(filepath.Join(module, "go.mod")); err == nil {
			return readPins(dir, module)
		}
		if dir == filepath.Dir(dir) {
			return nil, fmt.Errorf("no test/cluster/controlplane/go.mod in %s nor above it: run inside a checkout of "+
				"fairlead, set BuildOptions.Root to one, or set KUBEBUILDER_ASSETS to a folder with the programs", start)
		}
	}
}

func readPins(root, module string) (*pins, error) {
	p := &pins{folder: module, root: root, versions: map[string]string{}}
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return nil, fmt.Errorf("read the pins of the control plane: %w", err)
		}
		p.content = append(p.content, b...)
	}
	for line := range strings.Lines(string(p.content)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require"))
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") {
			continue
		}
		// go.mod comes first, and its line is the one that counts.
		if _, seen := p.versions[fields[0]]; !seen {
			p.versions[fields[0]] = fields[1]
		}
	}
	for _, name := range []string{kubernetesModule, etcdModule} {
		if p.versions[name] == "" {
			return nil, fmt.Errorf("%s pins no version of %s", filepath.Join(module, "go.mod"), name)
		}
	}
	return p, nil
}

// ldflags of a program: small, and with Kubernetes' version stamped in, without which the API
// server presents itself as a placeholder that no client can parse.
func (p *pins) ldflags(of program) string {
	const flags = "-s -w"
	if of.module != kubernetesModule {
		return flags
	}
	version := p.versions[kubernetesModule]
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	stamp := func(name, value string) string {
		return " -X k8s.io/component-base/version." + name + "=" + value
	}
	return flags + stamp("gitVersion", version) + stamp("gitMajor", major) + stamp("gitMinor", minor) +
		stamp("gitTreeState", "clean") + stamp("gitCommit", "unknown")
}
