"""Trains the small network in digits.safetensors and captures its next batches.

    python3 make_digits.py [FOLDER]      needs numpy and scikit-learn, takes seconds

The data are scikit-learn's handwritten digits: 1797 images of 8x8 pixels, intensities 0 to 16. The
network is an embedding of the intensity, three hidden layers (linear, RMSNorm, SiLU) and a linear
classifier. FP8 can take fc1, fc2 and fc3; fc4 has 10 outputs, no multiple of 16. `embed.weight` is
a matrix that is no linear layer.

It trains in FP64, so that the order in which a BLAS library sums moves nothing that survives the
rounding to BF16. What is reported and captured is the rounded network: BF16 weights, and BF16
activations into every linear layer. The captured images are the held-out ones.
"""

import hashlib
import json
import pathlib
import sys

import numpy as np
from sklearn.datasets import load_digits

SEED = 0
WIDTHS = [64, 208, 144, 32, 10]
LAYERS = range(1, len(WIDTHS))
SLICES, TOKENS = 8, 64  # the held-out images: 2 steps of 4 microbatches
EPOCHS, BATCH, RATE, DECAY = 40, 64, 2e-3, 1e-4
EPSILON = 1e-6


def bf16(values):
    """Rounds finite values to BF16, nearest even: FP32 with the low half zero."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def exact(values):
    return values


def initial_weights(random):
    weights = {"embed.weight": (np.arange(17.0)[:, None] - 8) / 8}
    for layer in LAYERS:
        fan_in, fan_out = WIDTHS[layer - 1], WIDTHS[layer]
        weights[f"fc{layer}.weight"] = random.normal(0, fan_in**-0.5, (fan_out, fan_in))
        weights[f"fc{layer}.bias"] = np.zeros(fan_out)
        if layer < LAYERS[-1]:
            weights[f"norm{layer}.weight"] = np.ones(fan_out)
    return weights


def forward(weights, pixels, rounded=exact):
    """Returns the logits [tokens, 10] and what each layer's backward needs. `rounded` acts on x."""
    h = weights["embed.weight"][pixels, 0]
    saved = {}
    for layer in LAYERS:
        x = np.float64(rounded(h))
        y = x @ weights[f"fc{layer}.weight"].T + weights[f"fc{layer}.bias"]
        if layer == LAYERS[-1]:
            saved[layer] = (x,)
            return y, saved
        inverse_rms = 1 / np.sqrt((y * y).mean(1, keepdims=True) + EPSILON)
        unit = y * inverse_rms
        z = unit * weights[f"norm{layer}.weight"]
        sigmoid = 1 / (1 + np.exp(-z))
        h = z * sigmoid
        saved[layer] = (x, inverse_rms, unit, z, sigmoid)


def loss_gradient(logits, labels):
    """The gradient of the mean cross entropy at the logits."""
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(labels)), labels] -= 1
    return p / len(labels)


def backward(weights, pixels, saved, dy):
    """Returns the gradients of the weights and, for each layer, of its y [tokens, out]."""
    gradients, dys = {}, {}
    for layer in reversed(LAYERS):
        x = saved[layer][0]
        if layer < LAYERS[-1]:
            _, inverse_rms, unit, z, sigmoid = saved[layer]
            dz = dy * sigmoid * (1 + z * (1 - sigmoid))
            gradients[f"norm{layer}.weight"] = (dz * unit).sum(0)
            dunit = dz * weights[f"norm{layer}.weight"]
            dy = inverse_rms * (dunit - unit * (dunit * unit).mean(1, keepdims=True))
        dys[layer] = dy
        gradients[f"fc{layer}.weight"] = dy.T @ x
        gradients[f"fc{layer}.bias"] = dy.sum(0)
        dy = dy @ weights[f"fc{layer}.weight"]
    gradients["embed.weight"] = np.bincount(pixels.ravel(), dy.ravel(), 17)[:, None]
    return gradients, dys


def train(pixels, labels, random):
    """AdamW with a learning rate that falls linearly to 0."""
    weights = initial_weights(random)
    mean = {name: np.zeros_like(w) for name, w in weights.items()}
    square = {name: np.zeros_like(w) for name, w in weights.items()}
    whole = len(labels) // BATCH * BATCH  # an epoch leaves out its last, partial batch
    order = np.concatenate([random.permutation(len(labels))[:whole] for _ in range(EPOCHS)])
    batches = order.reshape(-1, BATCH)
    for step, batch in enumerate(batches, start=1):
        logits, saved = forward(weights, pixels[batch])
        dy = loss_gradient(logits, labels[batch])
        gradients, _ = backward(weights, pixels[batch], saved, dy)
        rate = RATE * (1 - step / len(batches))
        for name, g in gradients.items():
            mean[name] = 0.9 * mean[name] + 0.1 * g
            square[name] = 0.999 * square[name] + 0.001 * g * g
            deviation = np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
            move = mean[name] / (1 - 0.9**step) / deviation
            weights[name] = weights[name] - rate * (move + DECAY * weights[name])
    return weights


def capture(weights, pixels, labels):
    """x and dy of every linear layer, as a training step over each slice would see them."""
    tensors = {}
    for part in range(SLICES):
        rows = slice(part * TOKENS, (part + 1) * TOKENS)
        logits, saved = forward(weights, pixels[rows], bf16)
        dy = loss_gradient(logits, labels[rows])
        _, dys = backward(weights, pixels[rows], saved, dy)
        for layer in LAYERS:
            tensors.setdefault(f"fc{layer}.x", []).append(saved[layer][0])
            tensors.setdefault(f"fc{layer}.dy", []).append(dys[layer])
    return {name: np.stack(parts) for name, parts in tensors.items()}


def write_bf16(path, tensors, metadata):
    """Writes a safetensors file, every tensor in BF16, in ascending order of name."""
    header, payload = {"__metadata__": metadata}, b""
    for name in sorted(tensors):
        data = (bf16(tensors[name]).view(np.uint32) >> 16).astype("<u2").tobytes()
        header[name] = {
            "dtype": "BF16",
            "shape": list(tensors[name].shape),
            "data_offsets": [len(payload), len(payload) + len(data)],
        }
        payload += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + payload)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    random = np.random.Generator(np.random.PCG64(SEED))
    digits = load_digits()
    order = random.permutation(len(digits.target))
    pixels, labels = digits.data[order].astype(int), digits.target[order]
    held_out = SLICES * TOKENS

    trained = train(pixels[held_out:], labels[held_out:], random)
    weights = {name: np.float64(bf16(w)) for name, w in trained.items()}
    pixels, labels = pixels[:held_out], labels[:held_out]
    accuracy = (forward(weights, pixels, bf16)[0].argmax(1) == labels).mean()
    print(f"accuracy in BF16 on {held_out} held-out images: {accuracy:.4f}")

    model = folder / "digits.safetensors"
    source = "scikit-learn load_digits: UCI handwritten digits, E. Alpaydin and C. Kaynak"
    write_bf16(model, weights, {
        "architecture": "embed, then fc1..fc3 each with RMSNorm and SiLU, then fc4",
        "data": source,
        "made_by": f"make_digits.py, seed {SEED}",
        "test_accuracy": f"{accuracy:.4f}",
        "test_images": str(held_out),
    })
    write_bf16(folder / "digits.inputs.safetensors", capture(weights, pixels, labels), {
        "checkpoint_sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
        "data": source,
        "layout": "LAYER.x [slice, token, in]: the layer's input; LAYER.dy [slice, token, out]: the"
                  " gradient of the slice's mean cross entropy at its output",
        "made_by": f"make_digits.py, seed {SEED}",
        "slices": str(SLICES),
        "tokens": str(TOKENS),
    })


if __name__ == "__main__":
    main()
