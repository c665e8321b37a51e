// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/cluster"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// Source is an origin of objects.
type Source interface {
	read(ctx context.Context, p *Peer) (*input, error)
}

// Files are a source: what a command line names.
type Files struct {
	Arguments []string
	Options   files.Options
}

func (f Files) read(_ context.Context, _ *Peer) (*input, error) {
	in := newInput()
	return in, files.Walk(f.Arguments, f.Options, func(name string, content io.Reader) error { return in.read(name, content, false) })
}

// readers is how many objects are asked for by name at a time.
const readers = 8

// Cluster is a source: the objects of a cluster, with the rights of a user. Nothing is written.
type Cluster struct{ *cluster.Cluster }

func (c Cluster) read(ctx context.Context, p *Peer) (*input, error) {
	in := newInput()
	for _, k := range p.Reads {
		switch err := c.list(ctx, in, k); {
		case err == nil, k.Optional && apierrors.IsNotFound(err): // the cluster has no such kind
		case k.Optional && ctx.Err() == nil:
			in.unread(c.Name(), k.Plural, err)
		default:
			return nil, fmt.Errorf("list %s: %w", k.Plural, err)
		}
	}
	if p.Follows == nil {
		return in, nil
	}
	return in, c.follow(ctx, in, p.Follows(in))
}

// follow reads objects by their names. Where a user may not, one remark for each kind and namespace is enough.
func (c Cluster) follow(ctx context.Context, in *input, refs []key) error {
	raws, errs := make([][]byte, len(refs)), make([]error, len(refs))
	var group sync.WaitGroup
	next := make(chan int)
	for range readers {
		group.Go(func() {
			for i := range next {
				raws[i], errs[i] = c.get(ctx, refs[i])
			}
		})
	}
	for i := range refs {
		next <- i
	}
	close(next)
	group.Wait()
	forbidden := map[key]bool{}
	for i, ref := range refs {
		switch err := errs[i]; {
		case apierrors.IsNotFound(err): // reported if a translation needs the object
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case apierrors.IsForbidden(err):
			ref.name = "*"
			if !forbidden[ref] {
				in.unread(c.Name(), ref.String(), err)
			}
			forbidden[ref] = true
		case err != nil:
			in.unread(c.Name(), ref.String(), err)
		default:
			if err := in.read(c.Name(), bytes.NewReader(raws[i]), true); err != nil {
				return err
			}
		}
	}
	return nil
}

// unread names what could not be read, and is not needed.
func (in *input) unread(file, what string, err error) {
	in.remarks = append(in.remarks, Remark{Effect: Left, Place: Place{File: file}, Object: what,
		Text: "could not be read, and was not taken into account: " + err.Error()})
}

// get returns an object of v1, and of a Secret the metadata alone.
func (c Cluster) get(ctx context.Context, ref key) ([]byte, error) {
	plural, _ := meta.UnsafeGuessKindToResource(ref.WithVersion("v1"))
	resource := cluster.Resource{Group: ref.Group, Version: "v1", Plural: plural.Resource}
	if ref.GroupKind != secretKind {
		return c.Get(ctx, resource, ref.namespace, ref.name)
	}
	raw, err := c.GetMetadata(ctx, resource, ref.namespace, ref.name)
	var found struct{ Metadata json.RawMessage }
	if err == nil {
		err = json.Unmarshal(raw, &found)
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Secret","metadata":%s}`, found.Metadata), err
}

// list reads all objects of a kind. Items of a list need not say what they are.
func (c Cluster) list(ctx context.Context, in *input, k Kind) error {
	gv := k.WithVersion(k.Version).GroupVersion().String()
	return c.List(ctx, cluster.Resource{Group: k.Group, Version: k.Version, Plural: k.Plural}, func(raw []byte) error {
		return in.read(c.Name(), bytes.NewReader(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"items":[%s]}`, gv, k.Kind+"List", raw)), true)
	})
}
