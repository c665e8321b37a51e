// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// How far up the folders of a file are looked at, and how large a kustomization is read, in bytes.
const (
	maxAncestors     = 32
	maxKustomization = 1 << 20
)

// skipper decides which files are no manifests of their own: what is excluded, what a kustomization
// patches with, and the templates of a chart.
type skipper struct {
	excluded []string
	patches  map[string]map[string]bool // by folder: the files that its kustomization patches with
}

// skip reports whether a file is not read. Only the kustomizations of the folders above it are looked
// at: kustomize itself reads no file beyond its own folder.
func (s *skipper) skip(name string) bool {
	for _, pattern := range s.excluded {
		if matches(pattern, filepath.ToSlash(filepath.Clean(name))) {
			return true
		}
	}
	file, err := filepath.Abs(name)
	if err != nil {
		return false
	}
	folder, below := filepath.Dir(file), ""
	for range maxAncestors {
		if s.patchesOf(folder)[file] {
			return true
		}
		if filepath.Base(below) == "templates" && exists(filepath.Join(folder, "Chart.yaml")) {
			return true
		}
		up := filepath.Dir(folder)
		if up == folder || exists(filepath.Join(folder, ".git")) {
			return false
		}
		folder, below = up, folder
	}
	return false
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// patchesOf lists, by absolute name, the files that the kustomization of a folder patches with.
func (s *skipper) patchesOf(folder string) map[string]bool {
	if listed, known := s.patches[folder]; known {
		return listed
	}
	if s.patches == nil {
		s.patches = map[string]map[string]bool{}
	}
	var k struct {
		Patches               []struct{ Path string } `json:"patches"`
		PatchesJSON6902       []struct{ Path string } `json:"patchesJson6902"`
		PatchesStrategicMerge []string                `json:"patchesStrategicMerge"`
	}
	listed := map[string]bool{}
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		content, err := readBounded(filepath.Join(folder, name))
		if err != nil || yaml.Unmarshal(content, &k) != nil {
			continue // kustomize reports what is wrong with it
		}
		for _, patch := range slices.Concat(k.Patches, k.PatchesJSON6902) {
			if patch.Path != "" {
				listed[filepath.Join(folder, patch.Path)] = true
			}
		}
		for _, patch := range k.PatchesStrategicMerge {
			if !strings.Contains(patch, "\n") {
				listed[filepath.Join(folder, patch)] = true
			}
		}
	}
	s.patches[folder] = listed
	return listed
}

func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // a kustomization above a file that the user names
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxKustomization))
}

// matches compares a cleaned name with a pattern of path.Match. A pattern without a slash is compared
// with each part of the name, one with a slash with the name from its beginning or from any folder on,
// and ** is any number of folders. A pattern that matches a folder matches all below it.
func matches(pattern, name string) bool {
	parts, wanted := strings.Split(name, "/"), strings.Split(strings.Trim(path.Clean(pattern), "/"), "/")
	for from := range parts {
		if matchesPrefix(wanted, parts[from:]) {
			return true
		}
	}
	return false
}

// matchesPrefix reports whether the first parts of a name match the parts of a pattern.
func matchesPrefix(wanted, parts []string) bool {
	switch {
	case len(wanted) == 0:
		return true
	case wanted[0] == "**":
		for skipped := range len(parts) + 1 {
			if matchesPrefix(wanted[1:], parts[skipped:]) && (skipped < len(parts) || len(wanted) == 1) {
				return true
			}
		}
		return false
	case len(parts) == 0:
		return false
	}
	matched, err := path.Match(wanted[0], parts[0])
	return err == nil && matched && matchesPrefix(wanted[1:], parts[1:])
}
