// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"sigs.k8s.io/yaml"
)

// Release writes the chart, as the folder fairlead and packed, and install.yaml to a folder. The version is
// that of the release, such as v0.1.0, and the tag of the image, a repository. The digest of the image, such as
// sha256:..., may be empty. The same input makes the same bytes. It returns the file of the packed chart.
func Release(config, out, version, image, digest string) (archive string, err error) {
	folder := filepath.Join(out, "fairlead")
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return "", err
	}
	if err := Generate(config, folder, version); err != nil {
		return "", fmt.Errorf("chart: %w", err)
	}
	released := image + ":" + version
	if digest != "" {
		released += "@" + digest
	}
	if err := setImage(folder, released); err != nil {
		return "", fmt.Errorf("chart: %w", err)
	}
	if archive, err = pack(folder, out); err != nil {
		return "", fmt.Errorf("pack the chart: %w", err)
	}
	manifests, err := Install(config, released)
	if err != nil {
		return "", fmt.Errorf("install.yaml: %w", err)
	}
	return archive, os.WriteFile(filepath.Join(out, "install.yaml"), manifests, 0o644) //nolint:gosec // all may read what is released
}

// pack packs a chart. A packed file has the time of the one on disk, and the manifest in a registry that of the archive.
func pack(folder, out string) (string, error) {
	begin := time.Unix(0, 0)
	if err := filepath.WalkDir(folder, func(file string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(file, begin, begin)) //nolint:gosec // what Generate just wrote
	}); err != nil {
		return "", err
	}
	packing := action.NewPackage()
	packing.Destination = out
	archive, err := packing.Run(folder, nil)
	if err != nil {
		return "", err
	}
	return archive, os.Chtimes(archive, begin, begin)
}

// setImage writes what is released into the annotation of the chart that its templates read.
func setImage(folder, image string) error {
	about := filepath.Join(folder, "Chart.yaml")
	content, err := os.ReadFile(about)
	if err != nil {
		return err
	}
	from := []byte("      image: fairlead\n")
	if bytes.Count(content, from) != 1 {
		return fmt.Errorf("%s does not hold %q once, which is where the image is written to", about, from)
	}
	content = bytes.Replace(content, from, fmt.Appendf(nil, "      image: %s\n", image), 1)
	return os.WriteFile(about, content, 0o600) //nolint:gosec // what Generate just wrote
}

// Install is config/default as one file.
func Install(config, image string) ([]byte, error) {
	objects, err := Build(config, Overlay{Resources: []string{"default"}})
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, o := range objects {
		content, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		all.WriteString("---\n")
		all.Write(content)
	}
	return bytes.ReplaceAll(all.Bytes(), []byte("image: fairlead:latest\n"), []byte("image: "+image+"\n")), nil
}
