// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/cluster"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// Source is where objects are read.
type Source interface {
	read(ctx context.Context, p *Peer) (*input, error)
}

// Files are a source: what a command line names.
type Files struct {
	Arguments []string
	files.Options
}

func (f Files) read(_ context.Context, _ *Peer) (*input, error) {
	in := newInput()
	return in, files.Walk(f.Arguments, f.Options, func(name string, content io.Reader) error { return in.read(name, content, false) })
}

// Cluster is a source: the objects of a cluster, with the rights of a user. Nothing is written.
type Cluster struct{ *cluster.Cluster }

func (c Cluster) read(ctx context.Context, p *Peer) (*input, error) {
	if len(p.Reads) == 0 {
		return nil, fmt.Errorf("%s keeps nothing in the cluster: give files", p.Name)
	}
	in := newInput()
	for _, k := range p.Reads {
		if err := c.list(ctx, in, k); err != nil {
			switch err = fmt.Errorf("list %s: %w", k.Plural, err); {
			case !k.Optional:
				return nil, err
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			}
			in.remarks = append(in.remarks, Remark{Effect: Left, Place: Place{File: c.Name}, Object: k.Plural, Text: "could not be read, and was not taken into account: " + err.Error()})
		}
	}
	if p.Follows == nil {
		return in, nil
	}
	for _, ref := range p.Follows(in) {
		plural, _ := meta.UnsafeGuessKindToResource(ref.WithVersion("v1"))
		raw, err := c.Get(ctx, cluster.Resource{Group: ref.Group, Version: "v1", Plural: plural.Resource}, ref.namespace, ref.name)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			in.remarks = append(in.remarks, Remark{Effect: Left, Place: Place{File: c.Name}, Object: ref.String(), Text: "could not be read, and was not taken into account: " + err.Error()})
			continue
		}
		if err := in.read(c.Name, bytes.NewReader(raw), true); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// list reads all objects of a kind. Items of a list need not say what they are.
func (c Cluster) list(ctx context.Context, in *input, k Kind) error {
	r := cluster.Resource{Group: k.Group, Version: k.Version, Plural: k.Plural}
	if r.Version == "" {
		var err error
		if r.Version, err = c.Preferred(ctx, k.Group); err != nil {
			if apierrors.IsNotFound(err) {
				return errors.New("the cluster does not have the kind " + k.Kind)
			}
			return err
		}
	}
	gv := k.WithVersion(r.Version).GroupVersion().String()
	return c.List(ctx, r, func(raw []byte) error {
		return in.read(c.Name, bytes.NewReader(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"items":[%s]}`, gv, k.Kind+"List", raw)), true)
	})
}
