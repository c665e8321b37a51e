// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
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
	// Namespaces are those that the operator works in, by config/namespaced. Default: all of the cluster.
	Namespaces []string
	// ClusterCIDRs are the ranges of the cluster, for an operator of some namespaces. Default: those of the chart.
	ClusterCIDRs []string
	// Patches as in a kustomization.
	Patches []types.Patch
}

// Build returns the objects of an overlay of the folder config, in kustomize's order.
func Build(config string, o Overlay) ([]*unstructured.Unstructured, error) {
	disk, err := inMemory(config)
	if err != nil {
		return nil, err
	}
	// These are laid over the operator together with the Roles in the namespaces.
	over := slices.DeleteFunc(slices.Clone(o.Components), func(name string) bool {
		return !strings.HasPrefix(name, "namespaced/") && !strings.HasPrefix(name, "without/")
	})
	of := slices.DeleteFunc(slices.Clone(o.Components), func(name string) bool { return slices.Contains(over, name) })
	if err := writeKustomization(disk, "/operator", types.Kustomization{
		Namespace: o.Namespace, Resources: inConfig(o.Resources), Components: inConfig(of),
	}); err != nil {
		return nil, err
	}
	overlay := types.Kustomization{NamePrefix: o.NamePrefix, Patches: o.Patches, Resources: []string{"../operator"}, Components: inConfig(over)}
	if len(o.Namespaces) > 0 {
		if err := disk.WriteFile("/overlay/namespaces.yaml", namespaces(o)); err != nil {
			return nil, err
		}
		overlay.Resources = append(overlay.Resources, "namespaces.yaml")
		overlay.Components = inConfig(append([]string{"namespaced"}, over...))
	}
	rights := []string{"../../config/namespaced/rights"}
	if slices.Contains(over, "namespaced/watch-secrets") {
		rights = append(rights, "../../config/namespaced/watch-secrets/rights")
	}
	for _, namespace := range o.Namespaces {
		overlay.Resources = append(overlay.Resources, "../rights/"+namespace)
		if err := writeKustomization(disk, "/rights/"+namespace, types.Kustomization{Namespace: namespace, Resources: rights}); err != nil {
			return nil, err
		}
	}
	if err := writeKustomization(disk, "/overlay", overlay); err != nil {
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
		if object.GetKind() == "FlowSchema" {
			// kustomize knows no flowcontrol.apiserver.k8s.io/v1, takes the kind for namespaced, and the API server
			// takes the namespace out again.
			object.SetNamespace("")
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// writeKustomization writes a kustomization to a folder.
func writeKustomization(disk filesys.FileSystem, folder string, k types.Kustomization) error {
	k.TypeMeta = types.TypeMeta{APIVersion: types.KustomizationVersion, Kind: types.KustomizationKind}
	content, err := yaml.Marshal(k)
	if err != nil {
		return err
	}
	return disk.WriteFile(folder+"/kustomization.yaml", content)
}

// inConfig is where folders of config are from a folder beside it.
func inConfig(folders []string) []string {
	paths := make([]string, 0, len(folders))
	for _, folder := range folders {
		paths = append(paths, "../config/"+folder)
	}
	return paths
}

// namespaces is the resource by which an overlay names the namespaces of the operator.
func namespaces(o Overlay) []byte {
	cidrs := o.ClusterCIDRs
	if cidrs == nil {
		cidrs = []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"}
	}
	return fmt.Appendf(nil, `apiVersion: kustomize.fairlead.dev/v1
kind: Namespaces
metadata:
  name: fairlead
  annotations: {config.kubernetes.io/local-config: "true"}
names: ["%s"]
arguments:
  namespaces: --set=namespaces=%s
  clusterCIDRs: --set=egress.clusterCIDRs=%s
`, strings.Join(o.Namespaces, `", "`), strings.Join(o.Namespaces, ","), strings.Join(cidrs, ","))
}

// inMemory copies YAML and JSON of a folder to /config.
func inMemory(config string) (filesys.FileSystem, error) {
	memory := filesys.MakeFsInMemory()
	root, err := os.OpenRoot(config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".json"}, filepath.Ext(name)) {
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
