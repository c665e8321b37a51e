// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation reads how the operator of a cluster is configured.
package installation

import (
	"fmt"
	"path"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

const (
	// Selector finds the operator's Deployments, whatever their name.
	Selector = "app.kubernetes.io/name=fairlead"
	// MaxDeployments bounds how many are looked at: one, two of the split layout, and one more for each set of namespaces.
	MaxDeployments = 100
)

// Manager returns the container that runs `fairlead manager`; nil where there is none.
func Manager(d *appsv1.Deployment) *corev1.Container {
	containers := d.Spec.Template.Spec.Containers
	i := slices.IndexFunc(containers, func(c corev1.Container) bool {
		return slices.Contains(c.Args, "manager") || slices.Contains(c.Command, "manager")
	})
	if i < 0 {
		return nil
	}
	return &containers[i]
}

// Configuration returns what the arguments of a Manager and the ConfigMap that it mounts say. Get reads a ConfigMap of the
// Deployment's namespace. Where the error is not nil, the arguments alone count.
func Configuration(
	d *appsv1.Deployment, manager *corev1.Container, get func(name string) (*corev1.ConfigMap, error),
) (*options.Configuration, error) {
	arguments := slices.Concat(manager.Command, manager.Args)
	configuration, err := options.FromArguments(arguments, func(file string) (*options.Configuration, error) {
		name, key := mountedFrom(d, manager, file)
		if name == "" {
			return nil, fmt.Errorf("%s is mounted from no ConfigMap", file)
		}
		from, err := get(name)
		if err != nil {
			return nil, err
		}
		content, found := from.Data[key]
		if !found {
			return nil, fmt.Errorf("ConfigMap %s has no key %s", name, key)
		}
		return options.Parse(name+"/"+key, []byte(content))
	})
	if err == nil {
		return configuration, nil
	}
	byDefault := func(string) (*options.Configuration, error) { return options.Default(), nil }
	if configuration, wrong := options.FromArguments(arguments, byDefault); wrong == nil {
		return configuration, err
	}
	return options.Default(), err
}

// mountedFrom returns the ConfigMap and the key that a container finds at a path; "" where there is none.
func mountedFrom(d *appsv1.Deployment, container *corev1.Container, file string) (name, key string) {
	for _, mount := range container.VolumeMounts {
		if mount.MountPath != path.Dir(file) {
			continue
		}
		for _, volume := range d.Spec.Template.Spec.Volumes {
			if volume.Name == mount.Name && volume.ConfigMap != nil {
				return volume.ConfigMap.Name, path.Base(file)
			}
		}
	}
	return "", ""
}
