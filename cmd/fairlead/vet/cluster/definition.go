// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

// hub is the version that the rules are written for.
const hub = "v1"

// definition is how a cluster serves a kind.
type definition struct {
	vet.Kind
	name     string
	served   []string
	storage  string
	findings []vet.Finding
}

// errNotInstalled means that the cluster has no CRD of a kind.
var errNotInstalled = errors.New("this cluster does not have the kind: install the CRDs of Fairlead first")

// definition reads that of a kind, or as much of it as everybody may.
func (c *Cluster) definition(ctx context.Context, kind vet.Kind) (*definition, error) {
	d := &definition{Kind: kind, name: kind.Plural + "." + kind.Group, storage: hub}
	raw, err := c.get(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+d.name, "")
	switch {
	case apierrors.IsForbidden(err):
		d.find(vet.Warning, "the versions at which objects are stored are unknown, since you may not read the CRD: "+
			"get on customresourcedefinitions.apiextensions.k8s.io is needed")
		return d, c.discover(ctx, d)
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s: %w", d.name, errNotInstalled)
	case err != nil:
		return nil, fmt.Errorf("%s: read its CRD: %w", d.name, err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name            string
				Served, Storage bool
			}
		}
	}
	if err := json.Unmarshal(raw, &crd); err != nil {
		return nil, fmt.Errorf("%s: read its CRD: %w", d.name, err)
	}
	for _, version := range crd.Spec.Versions {
		if version.Served {
			d.served = append(d.served, version.Name)
		}
		if version.Storage {
			d.storage = version.Name
		}
	}
	if d.storage != hub {
		d.find(vet.Warning, fmt.Sprintf("objects are stored at %s, and Fairlead stores them at %s: apply the CRDs that belong to this version of it", d.storage, hub))
	}
	if !slices.Contains(d.served, d.storage) {
		d.storage = hub // at which alone they can be read
	}
	return d, nil
}

// discover asks which versions are served.
func (c *Cluster) discover(ctx context.Context, d *definition) error {
	raw, err := c.get(ctx, "/apis/"+d.Group, "")
	var group struct{ Versions []struct{ Version string } }
	if err == nil {
		err = json.Unmarshal(raw, &group)
	}
	if err != nil {
		return fmt.Errorf("%s: ask which versions are served: %w", d.name, err)
	}
	for _, version := range group.Versions {
		d.served = append(d.served, version.Version)
	}
	return nil
}

func (d *definition) find(severity vet.Severity, message string) {
	d.findings = append(d.findings, vet.Finding{Severity: severity, Rule: vet.RuleStorage, Message: message})
}

// path of a collection, or of an object where a name is given.
func (d *definition) path(version, namespace, name string) string {
	return Resource{d.Group, version, d.Plural}.path(namespace, name)
}
