// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"helm.sh/helm/v4/pkg/action"
	"sigs.k8s.io/yaml"
)

// Release writes the chart, as the folder fairlead and packed, and install.yaml to a folder. The version is
// that of the release, such as v0.1.0, and the tag of the image, a repository.
func Release(config, out, version, image string) error {
	folder := filepath.Join(out, "fairlead")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	if err := Generate(config, folder, version); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	pack := action.NewPackage()
	pack.Destination = out
	if _, err := pack.Run(folder, nil); err != nil {
		return fmt.Errorf("pack the chart: %w", err)
	}
	manifests, err := Install(config, image+":"+version)
	if err != nil {
		return fmt.Errorf("install.yaml: %w", err)
	}
	return os.WriteFile(filepath.Join(out, "install.yaml"), manifests, 0o600)
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
