// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Overlay is a kustomization of a user.
type Overlay struct {
	// Namespace and NamePrefix of the objects. Default: those of config.
	Namespace, NamePrefix string
	// Resources and Components are folders of config, such as default.
	Resources, Components []string
	// Patches as in a kustomization.
	Patches []types.Patch
}

// Build returns the objects of an overlay of the folder config, in kustomize's order.
func Build(config string, o Overlay) ([]*unstructured.Unstructured, error) {
	disk, err := inMemory(config)
	if err != nil {
		return nil, err
	}
	kustomization := types.Kustomization{
		TypeMeta:  types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind},
		Namespace: o.Namespace, NamePrefix: o.NamePrefix, Patches: o.Patches,
	}
	for _, folder := range o.Resources {
		kustomization.Resources = append(kustomization.Resources, "../config/"+folder)
	}
	for _, folder := range o.Components {
		kustomization.Components = append(kustomization.Components, "../config/"+folder)
	}
	content, err := yaml.Marshal(kustomization)
	if err != nil {
		return nil, err
	}
	if err := disk.WriteFile("/overlay/kustomization.yaml", content); err != nil {
		return nil, err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/overlay")
	if err != nil {
		return nil, fmt.Errorf("%v with %v: %w", o.Resources, o.Components, err)
	}
	objects := make([]*unstructured.Unstructured, 0, built.Size())
	for _, resource := range built.Resources() {
		content, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", resource.CurId(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// inMemory copies the YAML of a folder to /config.
func inMemory(config string) (filesys.FileSystem, error) {
	memory := filesys.MakeFsInMemory()
	root, err := os.OpenRoot(config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".yaml" || strings.HasPrefix(name, "chart/") {
			return err
		}
		content, err := root.ReadFile(name)
		if err != nil {
			return err
		}
		return memory.WriteFile(path.Join("/config", name), content)
	})
	return memory, err
}

// id tells objects apart.
func id(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
