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
	"strings"
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

// locate is Build, and returns where each program is.
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
		b, err := newBuilder(options, wanted)
		if err != nil || len(b.missing(wanted)) == 0 {
			return binaries{folder: b.folder}, err
		}
		if options.Prebuilt && slices.ContainsFunc(b.missing(wanted), program.isPrebuilt) {
			if given, err = b.prebuilt(ctx); err != nil {
				b.printf("nothing could be downloaded, so that all programs are built, once; `go %s` says why", strings.Join(b.setupEnvtest(), " "))
			}
		}
		if given == "" {
			return binaries{folder: b.folder}, b.build(ctx, wanted)
		}
	}
	folder, lacking, err := assets(given, wanted)
	if err != nil || len(lacking) == 0 {
		return binaries{folder: folder}, err
	}
	b, err := newBuilder(options, lacking)
	if err == nil && len(b.missing(lacking)) > 0 {
		err = b.build(ctx, lacking)
	}
	if err != nil {
		return binaries{}, err
	}
	found := binaries{folder: folder, paths: map[string]string{}}
	for _, p := range lacking {
		found.paths[p.name] = filepath.Join(b.folder, p.name)
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
		if _, missing := exec.LookPath(filepath.Join(folder, p.name)); missing != nil {
			lacking, err = append(lacking, p), missing
		}
	}
	if len(lacking) == len(wanted) {
		return "", nil, fmt.Errorf("%s is %s, which has none of the programs %s (%w): correct it, or unset it and they are built",
			AssetsVariable, folder, names(wanted), err)
	}
	return folder, lacking, nil
}

// newBuilder returns what builds the programs. It is not nil after an error.
func newBuilder(options BuildOptions, wanted []program) (*builder, error) {
	b := &builder{options: options, pins: map[string]*pins{}, folder: options.Folder}
	root, err := findRoot(options.Root)
	if err != nil {
		return b, err
	}
	for _, module := range []string{controlPlanePins, kwokPins} {
		of := slices.DeleteFunc(slices.Clone(wanted), func(p program) bool { return p.pins != module })
		if len(of) == 0 && module != controlPlanePins { // whose version of Kubernetes the folder is called after
			continue
		}
		if b.pins[module], err = readPins(root, module, of); err != nil {
			return b, err
		}
	}
	if b.folder == "" {
		b.folder = filepath.Join(root, "bin", "controlplane",
			b.pins[controlPlanePins].versions[kubernetesModule]+"-"+runtime.GOOS+"-"+runtime.GOARCH)
	}
	if b.folder, err = filepath.Abs(b.folder); err != nil {
		return b, fmt.Errorf("build the control plane: %w", err)
	}
	return b, nil
}
