// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import "maps"

// The status of another version travels in the status, under the name of that version: there the API
// server lets only those write who may write the status. No annotation ever supplies any of it, since
// a user who may write the object may write its annotations, and an old copy of the object has old ones.

// carriage is how a status carries that of another version. Sealed, it names the status beside it by
// its digest and counts only as long as that is the same; otherwise an edit of the status beside it is
// laid over what it carries.
type carriage struct {
	name   string
	sealed bool
}

// open takes a status apart: what is its own, and the status that it carries.
func (c carriage) open(status any) (own, carried any, has bool) {
	object, _ := status.(map[string]any)
	carried = object[c.name]
	if carried == nil {
		return status, nil, false
	}
	rest := maps.Clone(object)
	delete(rest, c.name)
	if !c.sealed {
		return rest, carried, true
	}
	record, _ := carried.(map[string]any)
	carried = record["status"]
	_, whole := carried.(map[string]any)
	switch digest, sealed := record["digest"].(string); {
	case carried == nil || !sealed || !whole && len(rest) > 0:
		return status, nil, false // which was never put there
	case digest != tree(rest).digest():
		return rest, nil, false
	}
	return rest, carried, true
}

// put returns the status, which is an object or none, with the carried one in it.
func (c carriage) put(status, carried any) any {
	object, _ := status.(map[string]any)
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	delete(out, c.name)
	if c.sealed {
		carried = map[string]any{"digest": tree(out).digest(), "status": carried}
	}
	out[c.name] = carried
	return out
}

// status returns the status at the target version. It carries the source's where that could not be
// made again from it.
func (d direction[F, T]) status(from any) any {
	own, carried, has := d.theirs.open(from)
	if none(own) && !has {
		return own
	}
	to := d.statusOf(own, carried, has)
	if none(own) {
		return to
	}
	form := encode(decode[F](tree{"status": own}))["status"]
	again := encode(d.back(decode[T](tree{"status": to})))["status"]
	if covers(form, own) && equal(again, form) {
		return to
	}
	return d.ours.put(to, own)
}

func (d direction[F, T]) statusOf(own, carried any, has bool) any {
	after := decode[F](tree{"status": own})
	switch {
	case !has:
		return encode(d.forward(after))["status"]
	case d.theirs.sealed:
		return carried
	}
	saved := tree{"status": carried}
	before := d.back(decode[T](saved))
	if was := encode(before)["status"]; none(own) && none(was) || equal(was, own) {
		return carried
	}
	return d.overlaid(saved, before, after, "status")
}

// none says that a status is as good as absent.
func none(status any) bool {
	object, is := status.(map[string]any)
	for _, value := range object {
		is = is && value == nil
	}
	return status == nil || is
}
