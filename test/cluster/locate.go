// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// binaries says where the programs are.
type binaries struct {
	folder string            // of those that have no other
	paths  map[string]string // of those that stand elsewhere, by name
}

func (b binaries) path(name string) string {
	if path := b.paths[name]; path != "" {
		return path
	}
	return filepath.Join(b.folder, name)
}

// locate is Build for who wants to know where each program is.
func locate(ctx context.Context, options BuildOptions) (binaries, error) {
	if options.Output == nil {
		options.Output = io.Discard
	}
	if options.heartbeat == 0 {
		options.heartbeat = 15 * time.Second
	}
	wanted, err := selected(options.Programs)
	if err != nil {
		return binaries{}, err
	}
	given := os.Getenv(AssetsVariable)
	if given == "" {
		folder, err := buildMissing(ctx, options, wanted)
		return binaries{folder: folder}, err
	}
	folder, lacking, err := assets(given, wanted)
	if err != nil || len(lacking) == 0 {
		return binaries{folder: folder}, err
	}
	built, err := buildMissing(ctx, options, lacking)
	if err != nil {
		return binaries{}, err
	}
	found := binaries{folder: folder, paths: map[string]string{}}
	for _, p := range lacking {
		found.paths[p.name] = filepath.Join(built, p.name)
	}
	return found, nil
}

// assets checks a folder that the user named, and returns which of the programs must be built all
// the same.
func assets(folder string, wanted []program) (absolute string, lacking []program, err error) {
	if folder, err = filepath.Abs(folder); err != nil {
		return "", nil, fmt.Errorf("%s: %w", AssetsVariable, err)
	}
	for _, p := range wanted {
		_, err := exec.LookPath(filepath.Join(folder, p.name))
		switch {
		case err == nil:
		case p.seldom:
			lacking = append(lacking, p)
		default:
			return "", nil, fmt.Errorf("%s is %s, which has no program %s (%w): put it there (setup-envtest does not "+
				"bring kube-controller-manager), or unset %s and it is built", AssetsVariable, folder, p.name, err, AssetsVariable)
		}
	}
	return folder, lacking, nil
}

// buildMissing builds those of the programs that are not there yet, and returns their folder.
func buildMissing(ctx context.Context, options BuildOptions, wanted []program) (string, error) {
	root, err := findRoot(options.Root)
	if err != nil {
		return "", err
	}
	b := &builder{options: options, pins: map[string]*pins{}, folder: options.Folder}
	for _, module := range []string{controlPlanePins, kwokPins} {
		of := slices.DeleteFunc(slices.Clone(wanted), func(p program) bool { return p.pins != module })
		if len(of) == 0 && module != controlPlanePins { // whose version of Kubernetes the folder is called after
			continue
		}
		if b.pins[module], err = readPins(root, module, of); err != nil {
			return "", err
		}
	}
	if b.folder == "" {
		b.folder = filepath.Join(root, "bin", "controlplane",
			b.pins[controlPlanePins].versions[kubernetesModule]+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	}
	if b.folder, err = filepath.Abs(b.folder); err != nil {
		return "", fmt.Errorf("build the control plane: %w", err)
	}
	if len(b.missing(wanted)) == 0 {
		return b.folder, nil
	}
	return b.folder, b.build(ctx, wanted)
}
